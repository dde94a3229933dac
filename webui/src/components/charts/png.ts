/** A chart on a canvas as a PNG, with its title and its legend, as it looks on the page. */

interface Curve {
  readonly label: string;
  readonly colour: string;
}

const legendMax = 12;

export function pngOf(chart: HTMLCanvasElement, title: string, curves: readonly Curve[]): Promise<Blob> {
  const scale = chart.width / Math.max(1, chart.clientWidth);
  const style = getComputedStyle(document.documentElement);
  const shown = curves.slice(0, legendMax);
  const [head, line] = [30 * scale, 16 * scale];
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [chart.width, chart.height + head + line * shown.length + line / 2];
  const pen = canvas.getContext("2d");
  if (pen === null) return Promise.reject(new Error("The browser cannot draw."));
  pen.fillStyle = style.backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(chart, 0, head);
  pen.fillStyle = style.color;
  pen.font = `bold ${13 * scale}px ${style.fontFamily}`;
  pen.fillText(title, 10 * scale, 19 * scale);
  pen.font = `${11 * scale}px ${style.fontFamily}`;
  shown.forEach(({ label, colour }, at) => {
    pen.fillStyle = colour;
    pen.fillText(label, 10 * scale, head + chart.height + line * (at + 0.8));
  });
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob === null ? reject(new Error("The picture is too large.")) : resolve(blob))));
}
