/** The colour in which something is drawn, beside its name. */
export function Dot({ colour }: { colour: string | undefined }) {
  return (
    <svg width="10" height="10" aria-hidden="true">
      <circle cx="5" cy="5" r="4" fill={colour ?? "none"} />
    </svg>
  );
}
