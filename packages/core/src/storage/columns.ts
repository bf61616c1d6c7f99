// SQL stores share the columns of their tables. A list names the columns of a table by the
// properties of its rows. A column is named like its property, in snake case. Statements use
// `@name` parameters.

/** Writes `a.id, a.project_id as "projectId"`, for the alias `a`. */
export const selectList = (properties: readonly string[], alias?: string): string =>
  properties
    .map((property) => {
      const column = columnOf(property)
      const name = alias === undefined ? column : `${alias}.${column}`
      return column === property ? name : `${name} as "${property}"`
    })
    .join(', ')

/** Writes `(id, project_id) values (@id, @projectId)`. */
export const insertList = (properties: readonly string[]): string =>
  `(${properties.map(columnOf).join(', ')}) values (${properties.map((name) => `@${name}`).join(', ')})`

/** Writes `name = @name, max_queued = @maxQueued`. */
export const assignments = (properties: readonly string[]): string =>
  properties.map((property) => `${columnOf(property)} = @${property}`).join(', ')

/** Writes a property in snake case. */
export const columnOf = (property: string): string =>
  property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
