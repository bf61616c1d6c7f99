/** A statement with `@name` for its parameters, as PostgreSQL takes it: `$1`, `$2`, in the order of their first use. */
export type Sql<Parameters extends object = object, Row = unknown> = {
  readonly text: string
  readonly names: readonly string[]
  /** For the compiler alone: what it takes and the rows it gives. */
  readonly type?: (parameters: Parameters) => Row
}

const NAME = /(?<![\w@])@([a-zA-Z]\w*)/g

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
