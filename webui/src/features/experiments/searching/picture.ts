import type { Space } from "../../../components/charts/hyperparameters";

/** What every chart of a search is drawn from. */
export interface Picture {
  readonly space: Space;
  readonly metric: string;
  readonly smaller: boolean;
  /** The colour of each point by its rank: blue is best, orange is worst. */
  readonly colours: readonly string[];
}
