import { late } from "../late";

/** A text that somebody wrote, in Markdown. It is shown as it is until the code that reads Markdown is there. */
export const Prose = late(
  () => import("./markdown").then((m) => m.default),
  ({ text }) => <p className="prose plain">{text}</p>,
);
