import { sql } from './operation.js'

/** Keeps two concurrent transactions from both taking the last place. Returns no row without one. */
export const lockProject = sql<{ readonly projectId: string }>(
  ({ schema, lock }) =>
    `select 1 from ${schema}projects where id = @projectId ${lock('no key update')}`,
)
