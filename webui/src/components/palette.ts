/** Distinguishable on white and on black, also for most who see few colours. */
export const palette = ["#3b7ddd", "#e07a1f", "#2f9e6e", "#c2417a", "#8a6ee0", "#b08a00", "#1b96a8", "#b5523a"] as const;

/** For what is not one of the things that have a colour. */
export const restColour = "#888888";
