import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AgentFunctions as Agents, Programs } from '@org/agent-messaging-node/wiring'
import { orMissing } from '@org/agent-messaging-core/runtime'
import { TOOL_KINDS } from '@org/agent-messaging-runtime-process'
import { z } from 'zod'
import { OperatorError } from './operator-error.js'

/** The exports of the operator's module. */
export type AgentsFile = { readonly agents: Agents; readonly programs: Programs }

/** `echo` answers each message with its own text. */
export const builtInAgents: Agents = { echo: ({ message }) => message }

export const noAgentsFile: AgentsFile = { agents: {}, programs: {} }

/** Loads an ES module that exports agent functions by default, programs as `programs`, or both. */
export async function loadAgents(file: string): Promise<AgentsFile> {
  const full = path.resolve(file)
  if (!existsSync(full)) throw new OperatorError(`--agents: file not found: ${full}`, 2)
  const { default: agents, programs } = await importModule(full)
  if (programs === undefined) return { agents: checkedAgents(full, agents, 1), programs: {} }
  return {
    agents: agents === undefined ? {} : checkedAgents(full, agents, 0),
    programs: checkedPrograms(full, programs),
  }
}

async function importModule(full: string) {
  try {
    return (await import(pathToFileURL(full).href)) as { default?: unknown; programs?: unknown }
  } catch (error) {
    const where = error instanceof SyntaxError ? lineOfError(full) : ''
    throw problem(
      full,
      `cannot be loaded${where}: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** The line of a syntax error, from `node --check`. Empty if an imported module has the error. */
function lineOfError(full: string) {
  const { stderr } = spawnSync(process.execPath, ['--check', full], { encoding: 'utf8' })
  const [first = ''] = stderr.split('\n')
  const [, line] = /:(\d+)$/.exec(first) ?? []
  return line === undefined ? '' : `, line ${line}`
}

function checkedAgents(full: string, agents: unknown, atLeast: number) {
  const entries = typeof agents === 'object' && agents !== null ? Object.entries(agents) : undefined
  if (!entries || entries.length < atLeast)
    throw problem(full, 'must have a default export of the form { name: (request) => answer }')
  for (const [name, agent] of entries) {
    if (typeof agent !== 'function')
      throw problem(full, `must export functions, but "${name}" is a ${typeof agent}`)
  }
  return agents as Agents
}

const text = z.string(orMissing('must be a string'))
const allowedKinds = z.strictObject({
  allow: z.array(z.enum(TOOL_KINDS)),
  otherwise: z.enum(['deny', 'ask']).exactOptional(),
})
const program = z.strictObject(
  {
    command: text.min(1, 'must not be empty'),
    args: z.array(text, 'must be an array').exactOptional(),
    env: z.record(z.string(), text, 'must be an object').exactOptional(),
    cwd: text.exactOptional(),
    inheritEnv: z.array(text, 'must be an array').exactOptional(),
    permissions: z
      .union([z.enum(['deny', 'allow', 'ask']), allowedKinds], {
        error: `must be "deny", "allow", "ask" or { allow: [kinds], otherwise: "deny" or "ask" }, where the kinds are ${TOOL_KINDS.join(', ')}`,
      })
      .exactOptional(),
    login: text.exactOptional(),
  },
  { error: ({ code }) => (code === 'invalid_type' ? 'must be an object' : undefined) },
)
const programsSchema = z.record(z.string(), program, 'must be an object')

function checkedPrograms(full: string, programs: unknown): Programs {
  const parsed = programsSchema.safeParse(programs)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = ['programs', ...(issue?.path ?? [])].join('.')
  const why =
    issue?.code === 'unrecognized_keys'
      ? `has the unknown option ${issue.keys[0]}`
      : (issue?.message ?? 'is not valid')
  throw problem(full, `exports invalid programs: ${where} ${why}`)
}

const problem = (full: string, why: string) => new OperatorError(`--agents: ${full} ${why}`, 2)
