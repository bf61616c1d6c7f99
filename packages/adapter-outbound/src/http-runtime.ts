import type { Json, JsonObject } from '@org/agent-messaging-core'
import {
  failure,
  isJsonObject,
  isSecret,
  parseRemoteOptions,
  remoteOptionsSchema,
  signatureHeaders,
  success,
  withCustomHeaders,
  type AgentRuntime,
  type Clock,
  type Crypto,
  type RunningAgent,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import { Calls } from './calls.js'
import { ABORTED } from './exchange.js'
import { STREAM_LIMITS } from './models/streamed-response.js'
import type { OutboundHttp } from './outbound-http.js'
import { runOutcomeOf } from './run-outcome.js'
import { streamedRun } from './streamed-run.js'
import { Workload } from './workload.js'

export type HttpRuntimeOptions = {
  readonly http: Pick<OutboundHttp, 'send' | 'sendOrStream' | 'vet'>
  readonly crypto: Pick<Crypto, 'hmacSha256'>
  readonly clock: Pick<Clock, 'now'>
  /** The URL of this service for agents. Without it, a run carries a callback token but no URL. */
  readonly publicUrl: () => string | undefined
  /** Starts the names of the service's headers. The default is `X-Service`. */
  readonly headerPrefix?: string
  /** Limits the body of an agent's response. The default is 8 MiB. Core limits the answer in it. */
  readonly maxAnswerBytes?: number
}

/** The longest answer takes 6 MiB if every character is escaped. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/**
 * Runs agents behind HTTP. Each run is one signed POST of
 * `{messageId, agentId, sessionId, message, parts?, responseSchema?, metadata?, executionPrincipal,
 * attempt, callback}`.
 *
 * `200 {"response"}` answers the message. A 200 of type `text/event-stream` has the answer in its
 * last event, after chunks and parts. `202` promises an answer to the callback URL with the
 * callback token. The options are `{url, headers?, timeoutMs?}`. Headers are secret.
 */
export function httpRuntime(options: HttpRuntimeOptions): AgentRuntime {
  const settings: Settings = {
    headerPrefix: 'X-Service',
    maxAnswerBytes: MAX_ANSWER_BYTES,
    ...options,
  }
  const { http, headerPrefix } = settings
  return {
    kind: 'http',
    signsRequests: true,
    accepts: () => undefined,
    takesResponseSchema: true,
    optionsSchema: () => remoteOptionsSchema('Gets a POST for each run.'),
    parseOptions: async (input) => {
      const parsed = parseRemoteOptions('http', input, headerPrefix)
      if (!parsed.ok) return parsed
      const { url, ...rest } = parsed.value
      const vetted = await http.vet(url)
      return vetted.ok ? success(rest) : failure(`url ${vetted.error}`)
    },
    start: async ({ agent, secrets }) => {
      const target = targetOf(agent.runtime.options, secrets)
      if (!target)
        return failure({
          code: 'RUNTIME_EXITED',
          message: 'the agent has no URL or no signing secret',
        })
      const vetted = await http.vet(target.url)
      return vetted.ok
        ? success(runningHttpAgent(settings, target))
        : failure({ code: 'RUNTIME_EXITED', message: `url ${vetted.error}` })
    },
  }
}

type Settings = Required<HttpRuntimeOptions>

type Target = {
  readonly url: string
  readonly signingSecret: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** Reads the options that `parseOptions` accepted and the store kept. */
function targetOf(
  { url, timeoutMs }: JsonObject,
  { signingSecret, headers }: JsonObject,
): Target | undefined {
  if (typeof url !== 'string' || typeof signingSecret !== 'string' || !isSecret(signingSecret))
    return undefined
  return {
    url,
    signingSecret,
    headers: isJsonObject(headers) ? (headers as Record<string, string>) : {},
    ...(typeof timeoutMs === 'number' && { timeoutMs }),
  }
}

function runningHttpAgent(settings: Settings, target: Target): RunningAgent {
  const { http, clock, maxAnswerBytes } = settings
  const calls = new Calls()
  const load = new Workload()
  async function run(request: RunRequest, signal: AbortSignal) {
    const { timeoutMs: deadlineMs } = target
    const limits = {
      ...STREAM_LIMITS,
      maxBodyBytes: maxAnswerBytes,
      ...(deadlineMs !== undefined && { deadlineMs }),
    }
    const signed = signedRequest(settings, target, request)
    const outcome = await http.sendOrStream({ ...signed, ...limits, signal })
    return outcome.kind === 'stream'
      ? streamedRun(outcome, { emit: request.emit, maxEventLength: maxAnswerBytes, signal })
      : runOutcomeOf(outcome, clock.now())
  }

  return {
    run: (request, caller) =>
      load.count(
        calls.run(caller, (signal) => run(request, signal)),
        caller,
      ),
    /** Any response to OPTIONS shows that the agent's server is up. */
    async health(caller) {
      const { healthTimeoutMs: deadlineMs } = load
      const probe = { method: 'OPTIONS', url: target.url, headers: {} } as const
      const outcome = await calls.run(caller, (signal) =>
        http.send({ ...probe, deadlineMs, maxBodyBytes: 0, signal }),
      )
      if (outcome.kind === 'response') return { ok: true }
      const isLate = outcome.error === 'timeout' && outcome !== ABORTED
      return isLate && load.isBusy
        ? { ok: true }
        : { ok: false, detail: `${outcome.error}: ${outcome.detail}` }
    },
    stop: () => calls.stop(),
  }
}

/** An agent can stream its answer. Its own `Accept` header wins. */
const ACCEPT = 'application/json, text/event-stream'

function signedRequest(
  { crypto, clock, publicUrl, headerPrefix }: Settings,
  target: Target,
  run: RunRequest,
) {
  const body = JSON.stringify(bodyOf(run, publicUrl()))
  const { url, signingSecret: secret } = target
  const signature = signatureHeaders(crypto.hmacSha256, {
    id: `${run.messageId}.${run.attempt}`,
    event: 'message.run',
    body,
    secret,
    at: clock.now(),
    headerPrefix,
  })
  const ours = {
    'content-type': 'application/json',
    'idempotency-key': run.messageId,
    ...signature,
    ...run.trace,
  }
  const headers = withCustomHeaders(withCustomHeaders(ours, target.headers), { accept: ACCEPT })
  return { method: 'POST', url, headers, body } as const
}

function bodyOf(run: RunRequest, publicUrl: string | undefined): JsonObject {
  const { messageId, agentId, sessionId, message, parts, responseSchema, metadata } = run
  const { executionPrincipal, attempt, inputs } = run
  const path = `/v1/agents/${agentId}/messages/${messageId}/response`
  const url = publicUrl === undefined ? {} : { url: publicUrl.replace(/\/+$/, '') + path }
  return {
    messageId,
    agentId,
    sessionId,
    message,
    ...(parts && { parts: parts as unknown as Json }),
    ...(responseSchema && { responseSchema }),
    ...(metadata && { metadata }),
    executionPrincipal,
    attempt,
    ...(inputs && { inputs: inputs as unknown as Json }),
    callback: { ...url, token: run.runToken },
  }
}
