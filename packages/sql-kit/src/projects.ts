import { one, sql, type Operation, type Sql } from './operation.js'

export type OfProject = { readonly projectId: string }

/** Keeps two concurrent transactions from both taking the last place. Finds no row without one. */
export const lockProject = sql<OfProject>(
  ({ schema, lock }) =>
    `select 1 from ${schema}projects where id = @projectId ${lock('no key update')}`,
)

/** Counts the rows of a project. `condition` can use the parameters of the operation. */
export function countIn<P extends OfProject = OfProject>(
  table: string,
  condition: Sql<P> = () => 'true',
): (parameters: P) => Operation<number> {
  const count = sql<P, { readonly count: number }>(
    (d) => `
      select count(*) as count from ${d.schema}${table}
      where project_id = @projectId and ${condition(d)}`,
  )
  return function* (parameters) {
    return (yield* one<P, { readonly count: number }>(count, parameters))?.count ?? 0
  }
}
