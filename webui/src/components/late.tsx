import { type ComponentType, type ReactNode, useEffect, useState } from "react";

/** Shown in the place of a page that is on its way. */
export const loading = () => <p className="quiet">Loading …</p>;

/**
 * A component whose code is loaded when it is first shown; until then, `waiting` is. With React's `lazy` it would appear no sooner
 * than 300 ms after `waiting` (React's FALLBACK_THROTTLE_MS); here it appears as soon as it is there.
 */
export function late<Props extends object>(load: () => Promise<ComponentType<Props>>, waiting: (props: Props) => ReactNode = () => null): (props: Props) => ReactNode {
  let Loaded: ComponentType<Props> | undefined;
  return function Late(props: Props) {
    const [problem, setProblem] = useState<{ readonly cause: unknown }>();
    const [, setHere] = useState(Loaded !== undefined);
    useEffect(() => {
      if (Loaded !== undefined) return;
      let over = false;
      load().then(
        (component) => {
          Loaded = component;
          if (!over) setHere(true);
        },
        (cause: unknown) => !over && setProblem({ cause }),
      );
      return () => {
        over = true;
      };
    }, []);
    if (problem !== undefined) throw problem.cause;
    return Loaded === undefined ? waiting(props) : <Loaded {...props} />;
  };
}
