import type { Agent } from '@org/agent-messaging-core'
import {
  NO_CLAIMS,
  toAgent,
  type AgentRow,
  type AgentStore,
} from '@org/agent-messaging-core/storage'
import { changeAgentState, selectAgent } from '@org/agent-messaging-sql-kit'
import type { Gateway, Queries } from '../database/gateway.js'
import { fanOut } from '../events/fan-out.js'
import { dialect, perform } from '../database/operations.js'
import { sql } from '../database/sql.js'

const namedSql = sql<
  { readonly projectIds: readonly string[]; readonly names: readonly string[] },
  AgentRow
>(`
  ${selectAgent(dialect)} where id = any(@names::text[])
    or (project_id = any(@projectIds::text[]) and name = any(@names::text[]))`)

type AgentRef = { readonly projectId: string; readonly idOrName: string }

/** Finds the agents of many requests at once. Most requests name the same agent. */
export async function findAgents(
  db: Queries,
  all: readonly AgentRef[],
): Promise<(Agent | undefined)[]> {
  const projectIds = [...new Set(all.map(({ projectId }) => projectId))]
  const rows = await db.all(namedSql, {
    projectIds,
    names: [...new Set(all.map(({ idOrName }) => idOrName))],
  })
  const agents = new Map(rows.map((row) => [keyOf(row.projectId, row.name), toAgent(row)]))
  for (const row of rows) agents.set(keyOf(row.projectId, row.id), toAgent(row))
  return all.map(({ projectId, idOrName }) => agents.get(keyOf(projectId, idOrName)))
}

const keyOf = (projectId: string, idOrName: string): string => `${projectId} ${idOrName}`

/** `AgentStore.changeState`. */
export const stateChange =
  ({ write }: Gateway): AgentStore['changeState'] =>
  (change) =>
    write(async (db) => {
      const changed = await perform(db, changeAgentState, change)
      const { outgoing } = change
      return { changed, ...(changed && outgoing ? await fanOut(db, outgoing) : NO_CLAIMS) }
    })
