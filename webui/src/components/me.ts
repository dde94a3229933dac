import { createContext, useContext } from "react";
import type { User } from "../api/types";

/** Who is logged in. */
export const MeContext = createContext<User | undefined>(undefined);

export function useMe(): User {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error("there is a page without a user");
  return me;
}
