import type { Trial } from "../../api/types";
import { colourOf, quality, type Space, space } from "../charts/hyperparameters";
import { smallerIsBetter } from "../config";

/** What every chart of a search is drawn from. */
export interface Picture {
  readonly space: Space;
  readonly metric: string;
  readonly smaller: boolean;
  /** The colour of each point by its rank: blue is best, orange is worst. */
  readonly colours: readonly string[];
}

/** The trials over the hyperparameters in which they differ, drawn as `config` searches them. */
export function pictureOf(trials: readonly Trial[], config: unknown, metric: string): Picture {
  const smaller = smallerIsBetter(config);
  const made = space(trials, config);
  return { space: made, metric, smaller, colours: quality(made.points.map((point) => point.metric), smaller).map(colourOf) };
}

/** Whether there is something to compare. */
export const isEnough = ({ space: { points, dimensions } }: Picture): boolean => points.length > 1 && dimensions.length > 0;
