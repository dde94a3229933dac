import { get } from "../../api/client";
import { download } from "../forms/download";
import { readTar, type TarEntry } from "./tar";

/** The submitted files as a tar.gz. */
export async function modelArchive(id: number, signal?: AbortSignal): Promise<Blob> {
  const { b64Tgz } = await get("/api/v1/experiments/{id}/model_def", { path: { id } }, signal);
  return new Blob([Uint8Array.from(atob(b64Tgz), (character) => character.charCodeAt(0))], { type: "application/gzip" });
}

/** The files that were submitted with an experiment. */
export async function modelDefinition(id: number, signal?: AbortSignal): Promise<readonly TarEntry[]> {
  const archive = await modelArchive(id, signal);
  return archive.size === 0 ? [] : readTar(await gunzip(archive));
}

async function gunzip(archive: Blob): Promise<Uint8Array> {
  const reader = archive.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) pieces.push(piece.value);
  } catch (cause) {
    // Archives are padded with zeros, which the browser takes amiss after it has handed over all that
    // is in them. What is really cut off, `readTar` notices.
    if (pieces.length === 0) throw cause;
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Lets the browser keep the files. */
export async function downloadArchive(id: number): Promise<void> {
  download(`experiment-${id}.tar.gz`, "application/gzip", await modelArchive(id));
}

/** Bytes as base64, in pieces that fit on the stack. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
