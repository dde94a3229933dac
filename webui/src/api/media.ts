import { get } from "./client";
import type { components } from "./generated/schema";

type Schemas = components["schemas"];
export type MediaKind = Schemas["MediaTag"]["kind"];
export type MediaFile = Schemas["MediaFile"];
export type Histogram = Schemas["MediaHistogram"];

/** A tag under which a trial wrote media, and the steps of those that can be read. */
export interface MediaTag {
  readonly kind: MediaKind;
  readonly tag: string;
  readonly steps: readonly number[];
}

export interface MediaValue {
  readonly step: number;
  /** Images or sounds. */
  readonly files: readonly MediaFile[];
  readonly histogram?: Histogram;
  /** Markdown. */
  readonly texts: readonly string[];
}

export async function listMedia(trialId: number, signal: AbortSignal): Promise<readonly MediaTag[]> {
  const { tags } = await get("/api/v1/trials/{trialId}/media", { path: { trialId } }, signal);
  return tags.map((one) => ({ ...one, steps: one.steps.map(Number) }));
}

/** At most `limit` values up to a step, evenly spaced. */
export async function getMedia(trialId: number, { kind, tag }: Pick<MediaTag, "kind" | "tag">, step: number, limit: number, signal: AbortSignal): Promise<readonly MediaValue[]> {
  const query = { kind, tag, step: String(step), limit };
  const { values } = await get("/api/v1/trials/{trialId}/media/values", { path: { trialId }, query }, signal);
  return values.map((one) => ({ ...one, step: Number(one.step) }));
}
