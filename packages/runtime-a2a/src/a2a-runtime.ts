import {
  type AgentRuntime,
  type Clock,
  customHeadersProblem,
  customHeadersSchema,
  failure,
  isJsonObject,
  type JsonObject,
  orMissing,
  type ParsedOptions,
  type PortResult,
  type RunError,
  type RuntimeOptionsSchema,
  success,
  type Telemetry,
  withNearest,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import type { Fetch, Remote } from './a2a-client.js'
import { describeError, safeText } from './error-text.js'

export type A2aRuntimeOptions = {
  /** Sends every request. Must block private addresses and limit the size of responses. */
  readonly fetch: Fetch
  /** Checks a URL. The error continues a sentence that starts with the field's name. */
  readonly vet: (url: string) => Promise<PortResult<void, string>>
  readonly clock: Pick<Clock, 'sleep'>
  /** Learns of files and data that the service left out of an answer. */
  readonly telemetry?: Telemetry | undefined
}

const CARD_TIMEOUT_MS = 10_000

/**
 * Runs remote agents that speak A2A 1.0 or 0.3 over JSON-RPC or HTTP+JSON. A session maps to a
 * context of the agent, and a message to a task, which the runtime polls. The options are `{url,
 * headers?, timeoutMs?}`. Headers are secret and go only to the origin of `url`.
 */
export function a2aRuntime({ fetch, vet, clock, telemetry }: A2aRuntimeOptions): AgentRuntime {
  return {
    kind: 'a2a',
    signsRequests: false,
    optionsSchema: a2aOptionsSchema,
    parseOptions: async (input) => {
      const parsed = parseA2aOptions(input)
      if (!parsed.ok) return parsed
      const { url, ...rest } = parsed.value
      const vetted = await vet(url)
      return vetted.ok ? success(rest) : failure(`url ${vetted.error}`)
    },
    start: async ({ agent, secrets }, _onExit, stopping) => {
      const remote = remoteOf(agent.runtime.options, secrets)
      if (!remote) return failure(exited('the agent has no url'))
      const vetted = await vet(remote.url)
      if (!vetted.ok) return failure(exited(`url ${vetted.error}`))
      // The SDK loads slowly, and most processes have no such agent.
      const [{ A2aAgent }, { connect }] = await Promise.all([
        import('./a2a-agent.js'),
        import('./a2a-client.js'),
      ])
      try {
        const timeout = AbortSignal.timeout(CARD_TIMEOUT_MS)
        const signal = stopping ? AbortSignal.any([timeout, stopping]) : timeout
        const client = await connect(fetch, remote, signal)
        return success(new A2aAgent({ fetch, clock, telemetry }, remote, client))
      } catch (error) {
        const message = `the agent's card is not usable: ${describeError(error)}`
        return failure(exited(safeText(message, remote)))
      }
    },
  }
}

/** Reads the options that `parseOptions` accepted and the store kept. */
function remoteOf({ url, timeoutMs }: JsonObject, { headers }: JsonObject): Remote | undefined {
  if (typeof url !== 'string') return undefined
  return {
    url,
    headers: isJsonObject(headers) ? (headers as Record<string, string>) : {},
    ...(typeof timeoutMs === 'number' && { timeoutMs }),
  }
}

const exited = (message: string): RunError => ({ code: 'RUNTIME_EXITED', message })

const HEADER_LIMITS = { maxHeaders: 32, maxValueLength: 8 * 1024 }
const MAX_TIMEOUT_MS = 24 * 3_600_000

const options = z.strictObject({
  url: z.string(orMissing('must be a string')).meta({
    format: 'uri',
    description: 'The agent. Its card is at `/.well-known/agent-card.json` below it.',
  }),
  headers: z
    .record(z.string(), z.string('must be a string'), 'must be an object')
    .meta({ ...customHeadersSchema(HEADER_LIMITS), description: 'Sent to the agent. Secret.' })
    .optional(),
  timeoutMs: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(MAX_TIMEOUT_MS, `must be at most ${MAX_TIMEOUT_MS}`)
    .optional()
    .meta({ description: 'The time for one answer. Absent: the deadline of the run.' }),
})

/** Describes the options, for the API's document. */
const a2aOptionsSchema = () => z.toJSONSchema(options, { io: 'input' }) as RuntimeOptionsSchema

/** Checks the text of the options, but not whether the URL is reachable. */
function parseA2aOptions(
  input: JsonObject,
): PortResult<ParsedOptions & { readonly url: string }, string> {
  const parsed = options.safeParse(input)
  if (!parsed.success) return failure(describeProblem(parsed.error.issues[0]))
  const { url, headers, timeoutMs } = parsed.data
  const problem = customHeadersProblem(headers ?? {}, HEADER_LIMITS)
  if (problem) return failure(`${problem.path} ${problem.message}`)
  return success({
    url,
    options: {
      url,
      ...(headers && { headers: { set: true } }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    },
    secrets: headers ? { headers } : {},
  })
}

function describeProblem(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') {
    const unknown = withNearest(issue.keys[0] ?? '', Object.keys(options.shape))
    return `${unknown} is not an option of a2a agents`
  }
  return issue ? `${issue.path.join('.')} ${issue.message}` : 'options are not valid'
}
