/** Line drawings of 16 by 16, in the colour of the text beside them. */
const shapes = {
  dashboard: "M2.5 2.5h4.5v6h-4.5zM9 2.5h4.5v3.5H9zM9 8h4.5v5.5H9zM2.5 10.5H7v3H2.5z",
  experiments: "M6 2v4L2.8 12.2A1 1 0 0 0 3.7 13.7h8.6a1 1 0 0 0 .9-1.5L10 6V2M5 2h6M4.6 9.5h6.8",
  cluster: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01M8 5h3M8 11h3",
  workspaces: "M2.5 4.2h4l1.2 1.5h5.8v7.3h-11zM2.5 8h11",
  queue: "M2.5 4h11M2.5 8h8M2.5 12h5",
  tasks: "M2.5 3h11v10h-11zM5 6.5 7 8.2 5 10M8.5 10.5h2.5",
  models: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8l5.5-3M8 8v6",
  templates: "M5.5 2.5h8v8h-8zM10.5 10.5v3h-8v-8h3M8 5h3M8 7.5h3",
  webhooks: "M8 2.2a3.9 3.9 0 0 0-3.9 3.9c0 3.7-1.4 4.9-1.4 4.9h10.6s-1.4-1.2-1.4-4.9A3.9 3.9 0 0 0 8 2.2zM6.7 13.2a1.5 1.5 0 0 0 2.6 0",
  users: "M8 7.5a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4zM2.8 14c.4-2.7 2.4-4.2 5.2-4.2s4.8 1.5 5.2 4.2",
  audit: "M4 2.5h6l2.5 2.5v8.5h-8.5zM6 6.5h4.5M6 9h4.5M6 11.5h3",
  settings: "M2.5 4.5h5M11 4.5h2.5M9.3 2.8v3.4M2.5 11.5H5M8.5 11.5h5M6.7 9.8v3.4",
  api: "M6 2.5c-2 0-2 .8-2 2.6S3.6 7.5 2.5 8C3.6 8.5 4 9.3 4 10.9s0 2.6 2 2.6M10 2.5c2 0 2 .8 2 2.6s.4 2.4 1.5 2.9c-1.1.5-1.5 1.3-1.5 2.9s0 2.6-2 2.6",
  moon: "M13 9.3A5.6 5.6 0 0 1 6.7 3 5.6 5.6 0 1 0 13 9.3z",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2",
  leave: "M6.5 2.5h-4v11h4M6 8h7.5M10.5 5l3 3-3 3",
} as const;

export type IconName = keyof typeof shapes;
export const iconNames = Object.keys(shapes) as readonly IconName[];

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={shapes[name]} fill="none" stroke="currentColor" strokeWidth="1.3" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
