/** A statement for PostgreSQL, with `$1`, `$2` for its parameters in the order of `names`. */
export type Sql<Parameters extends object = object, Row = unknown> = {
  readonly text: string
  readonly names: readonly string[]
  /** Never set. Tells the compiler the types of the parameters and rows. */
  readonly type?: (parameters: Parameters) => Row
}

const NAME = /(?<![\w@])@([a-zA-Z]\w*)/g

/** Makes a statement from a template with `@name` for each parameter. */
export function sql<Parameters extends object = object, Row = unknown>(
  template: string,
): Sql<Parameters, Row> {
  const names: string[] = []
  const text = template.replace(NAME, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { text, names }
}
