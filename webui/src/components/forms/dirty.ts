/** Whether somebody has changed something in a form. */

/** What a field has to say of itself: an input, a selection or a text area. */
export interface FormField {
  readonly type: string;
  readonly value: string;
  readonly checked?: boolean;
  readonly isConnected: boolean;
}

const contentOf = ({ type, value, checked }: FormField) => (type === "checkbox" || type === "radio" ? String(checked) : value);

/** Remembers what was in each field when somebody first came to it. */
export class FormMemory {
  private readonly before = new Map<FormField, string>();

  reached(field: FormField): void {
    if (!this.before.has(field)) this.before.set(field, contentOf(field));
  }

  /** What is in the fields now is how it shall be. */
  settle(): void {
    this.before.clear();
  }

  /** Some field, of those that are still there, has another content now. */
  changed(): boolean {
    return [...this.before].some(([field, content]) => field.isConnected && contentOf(field) !== content);
  }
}
