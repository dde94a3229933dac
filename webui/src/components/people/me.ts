import { createContext, useContext } from "react";
import type { User } from "../../api/types";
import type { Rights } from "./rights";

/** Who is logged in. */
export const MeContext = createContext<User | undefined>(undefined);

/** What they may do. */
export const RightsContext = createContext<Rights | undefined>(undefined);

export function useMe(): User {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error("there is a page without a user");
  return me;
}

export function useRights(): Rights {
  const rights = useContext(RightsContext);
  if (rights === undefined) throw new Error("there is a page without rights");
  return rights;
}
