import {
  type AgentRuntime,
  type Clock,
  failure,
  parseRemoteOptions,
  partsWith,
  type PortResult,
  remoteOptionsSchema,
  type RunError,
  success,
  type Telemetry,
} from '@org/agent-messaging-core/runtime'
import { describeError, safeText } from './error-text.js'
import { remoteOf, type Fetch } from './remote.js'

export type A2aRuntimeOptions = {
  /** Sends every request. Must block private addresses and limit the size of responses. */
  readonly fetch: Fetch
  /** Checks a URL. The error continues a sentence that starts with the field's name. */
  readonly vet: (url: string) => Promise<PortResult<void, string>>
  readonly clock: Pick<Clock, 'sleep'>
  /** Learns of parts that the service left out of an answer or a question. */
  readonly telemetry?: Telemetry | undefined
}

const CARD_TIMEOUT_MS = 10_000
const URL_TEXT = 'The agent. Its card is at `/.well-known/agent-card.json` below it.'

/**
 * Runs remote agents that speak A2A 1.0 or 0.3 over JSON-RPC or HTTP+JSON. A session maps to a
 * context of the agent, and a message to a task, which the runtime polls. The options are `{url,
 * headers?, timeoutMs?}`. Headers are secret and go only to the origin of `url`.
 */
export function a2aRuntime({ fetch, vet, clock, telemetry }: A2aRuntimeOptions): AgentRuntime {
  return {
    kind: 'a2a',
    signsRequests: false,
    accepts: () => undefined,
    optionsSchema: () => remoteOptionsSchema(URL_TEXT),
    parseOptions: async (input) => {
      const parts = await loadParts()
      if (!parts.ok) return parts
      const parsed = parseRemoteOptions('a2a', input)
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
      const parts = await loadParts().catch(({ message }: Error) => failure(message))
      if (!parts.ok) return failure(exited(`the agent ${parts.error}`))
      const { A2aAgent, connect } = parts.value
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

const exited = (message: string): RunError => ({ code: 'RUNTIME_EXITED', message })

/** Loads the parts that need the SDK. Says what to install if the SDK is missing. */
const loadParts = () => partsWith('@a2a-js/sdk', import('./a2a-start.js'))
