import { existsSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AgentFunction } from '@org/agent-messaging-core'
import { OperatorError } from './operator-error.js'

/** Handlers by name, as an agent's option `handler` names them. */
export type Agents = Readonly<Record<string, AgentFunction>>

/** Always there, to try things out with: answers each message with its own text. */
export const builtInAgents: Agents = { echo: ({ message }) => message }

/** The handlers of an ES module whose default export is a record of functions. */
export async function loadAgents(file: string): Promise<Agents> {
  const full = path.resolve(file)
  if (!existsSync(full)) throw new OperatorError(`--agents: there is no file ${full}`, 2)
  const { default: agents } = await importModule(full)
  const entries = typeof agents === 'object' && agents !== null ? Object.entries(agents) : []
  if (entries.length === 0) throw problem(full, 'has no default export of the form { name: (request) => answer }')
  for (const [name, agent] of entries) {
    if (typeof agent !== 'function') throw problem(full, `exports "${name}", which is not a function but a ${typeof agent}`)
  }
  return agents as Agents
}

async function importModule(full: string): Promise<{ default?: unknown }> {
  try {
    return (await import(pathToFileURL(full).href)) as { default?: unknown }
  } catch (error) {
    throw problem(full, `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const problem = (full: string, why: string): OperatorError => new OperatorError(`--agents: ${full} ${why}`, 2)
