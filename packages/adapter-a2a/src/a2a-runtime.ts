import {
  failedRun,
  isJsonObject,
  type AgentRuntime,
  type Clock,
  type FinishedRun,
  type JsonObject,
  type RunError,
  type RunningAgent,
} from '@org/agent-messaging-core/runtime'
import { err, ok, type Result } from 'neverthrow'
import { connect, type Fetch, type Remote } from './a2a-client.js'
import { parseA2aOptions } from './a2a-options.js'
import { tellable } from './tellable.js'
import { takeTurn, type TurnDeps } from './turn.js'

export type A2aRuntimeOptions = {
  /** What every request goes through: it is to keep away from addresses that are not public, and to bound what it reads. */
  readonly fetch: Fetch
  /** Whether requests may go to a URL; the error is the rest of a sentence that begins with the field's name. */
  readonly vet: (url: string) => Promise<Result<void, string>>
  readonly clock: Pick<Clock, 'sleep'>
}

const CARD_TIMEOUT_MS = 10_000
const HEALTH_TIMEOUT_MS = 5_000

/**
 * Remote agents that speak A2A 1.0 over JSON-RPC or HTTP+JSON. A session is a context of theirs and a message a task, which is
 * begun without blocking and looked at until it rests. Options: `{url, headers?, timeoutMs?}`; headers are secret and go to the
 * origin of `url` alone.
 */
export function a2aRuntime({ fetch, vet, clock }: A2aRuntimeOptions): AgentRuntime {
  return {
    kind: 'a2a',
    signsRequests: false,
    parseOptions: async (input) => {
      const parsed = parseA2aOptions(input)
      if (parsed.isErr()) return err(parsed.error)
      const { url, ...rest } = parsed.value
      return (await vet(url)).map(() => rest).mapErr((reason) => `url ${reason}`)
    },
    start: async ({ agent, secrets }, _onExit, stopping) => {
      const remote = remoteOf(agent.runtime.options, secrets)
      if (!remote) return err(exited('the agent has no url'))
      const vetted = await vet(remote.url)
      if (vetted.isErr()) return err(exited(`url ${vetted.error}`))
      try {
        const late = AbortSignal.timeout(CARD_TIMEOUT_MS)
        const client = await connect(
          fetch,
          remote,
          stopping ? AbortSignal.any([late, stopping]) : late,
        )
        return ok(runningA2aAgent({ client, clock }, fetch, remote))
      } catch (error) {
        return err(
          exited(tellable(`the agent's card could not be used: ${messageOf(error)}`, remote)),
        )
      }
    },
  }
}

/** What `parseOptions` let through, as it comes back from the store. */
function remoteOf({ url, timeoutMs }: JsonObject, { headers }: JsonObject): Remote | undefined {
  if (typeof url !== 'string') return undefined
  return {
    url,
    headers: isJsonObject(headers) ? (headers as Record<string, string>) : {},
    ...(typeof timeoutMs === 'number' && { timeoutMs }),
  }
}

function runningA2aAgent(
  { client: first, clock }: TurnDeps,
  fetch: Fetch,
  remote: Remote,
): RunningAgent {
  let client = first
  const stopping = new AbortController()
  const underWay = new Set<Promise<unknown>>()
  return {
    run: async (request, signal) => {
      const deadline =
        remote.timeoutMs === undefined ? undefined : AbortSignal.timeout(remote.timeoutMs)
      const ends = AbortSignal.any([signal, stopping.signal, ...(deadline ? [deadline] : [])])
      const taken = takeTurn({ client, clock }, request, ends)
      underWay.add(taken)
      const outcome = toTell(await taken, remote)
      underWay.delete(taken)
      if (outcome.kind === 'answered' || !deadline?.aborted || signal.aborted) return outcome
      return failedRun('RUNTIME_TIMEOUT', `no answer within ${remote.timeoutMs} ms`, true)
    },
    /** The card is what every A2A agent serves; that it can be read and used shows that the agent is up. Where it points now, the next runs go. */
    health: async (signal) => {
      try {
        client = await connect(
          fetch,
          remote,
          AbortSignal.any([signal, AbortSignal.timeout(HEALTH_TIMEOUT_MS)]),
        )
        return { ok: true }
      } catch (error) {
        return { ok: false, detail: tellable(messageOf(error), remote) }
      }
    },
    stop: async () => {
      // As in a drain: the tasks go on over there, and the runs' next attempts find them.
      stopping.abort(new Error('the agent is being stopped', { cause: 'drain' }))
      await Promise.all(underWay)
    },
  }
}

const exited = (message: string): RunError => ({ code: 'RUNTIME_EXITED', message })

const toTell = (run: FinishedRun, remote: Remote): FinishedRun =>
  run.kind === 'failed'
    ? { ...run, error: { ...run.error, message: tellable(run.error.message, remote) } }
    : run

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
