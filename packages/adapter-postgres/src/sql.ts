/** A statement with `@name` for its parameters, as PostgreSQL takes it: `$1`, `$2`, in the order of their first use. */
export type Sql<Parameters extends object = object> = { readonly text: string; readonly names: readonly (keyof Parameters & string)[] }

const NAME = /(?<![\w@])@([a-zA-Z]\w*)/g

export function sql<Parameters extends object>(template: string): Sql<Parameters> {
  const names: (keyof Parameters & string)[] = []
  const text = template.replace(NAME, (_, name: keyof Parameters & string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { text, names }
}
