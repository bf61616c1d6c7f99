import type {
  AgentRuntime,
  Clock,
  Crypto,
  JsonObject,
  RunningAgent,
  RunOutcome,
  RunRequest,
} from '@org/agent-messaging-core/runtime'
import {
  isJsonObject,
  isSecret,
  signatureHeaders,
  withCustomHeaders,
} from '@org/agent-messaging-core/runtime'
import { err } from 'neverthrow'
import { GIVEN_UP, type HttpRequest } from './exchange.js'
import { parseHttpOptions } from './http-runtime-options.js'
import type { OutboundHttp } from './outbound-http.js'
import { runOutcomeOf } from './run-answer.js'
import { underWay } from './under-way.js'
import { BUSY_HEALTH_TIMEOUT_MS, HEALTH_TIMEOUT_MS, workload } from './workload.js'

export type HttpRuntimeOptions = {
  readonly http: Pick<OutboundHttp, 'send' | 'vet'>
  readonly crypto: Pick<Crypto, 'hmacSha256'>
  readonly clock: Pick<Clock, 'now'>
  /** Where agents reach this service, `https://host/base`; while it is undefined, runs carry a callback token and no URL. */
  readonly publicUrl: () => string | undefined
  /** `X-Service` unless the operator chose another. */
  readonly headerPrefix?: string
  /** Of an agent's answer; 8 MiB unless given. How long the text in it may be is core's to say. */
  readonly maxAnswerBytes?: number
}

/** The longest answer has six, if each of its characters is escaped. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/**
 * Agents behind HTTP. Each run is one signed POST of
 * `{messageId, agentId, sessionId, message, metadata?, executionPrincipal, attempt, callback: {url?, token}}`; `200 {"response"}`
 * answers it, `202` promises an answer by callback. Options: `{url, headers?, timeoutMs?}`; headers are secret.
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
    parseOptions: async (input) => {
      const parsed = parseHttpOptions(input, headerPrefix)
      if (parsed.isErr()) return err(parsed.error)
      const { url, ...rest } = parsed.value
      const vetted = await http.vet(url)
      return vetted.map(() => rest).mapErr((reason) => `url ${reason}`)
    },
    start: async ({ agent, secrets }) => {
      const target = targetOf(agent.runtime.options, secrets)
      if (!target)
        return err({ code: 'RUNTIME_EXITED', message: 'the agent has no url or no signing secret' })
      const vetted = await http.vet(target.url)
      return vetted
        .map(() => runningHttpAgent(settings, target))
        .mapErr((reason) => ({ code: 'RUNTIME_EXITED', message: `url ${reason}` }))
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

/** What `parseOptions` let through, as it comes back from the store. */
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
  const works = underWay()
  const load = workload()
  const send = (request: Omit<HttpRequest, 'signal'>, callers: AbortSignal) =>
    works.add(callers, (signal) => http.send({ ...request, signal }))

  async function run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    const { timeoutMs: deadlineMs } = target
    const timing = deadlineMs === undefined ? {} : { deadlineMs }
    const outcome = await send(
      { ...signedRequest(settings, target, request), ...timing, maxBodyBytes: maxAnswerBytes },
      signal,
    )
    return runOutcomeOf(outcome, clock.now())
  }

  return {
    run: (request, signal) => load.count(run(request, signal), signal),
    /** Any answer to OPTIONS shows that the agent's server is up; what it says of the method does not matter. */
    async health(signal) {
      const deadlineMs = load.isBusy ? BUSY_HEALTH_TIMEOUT_MS : HEALTH_TIMEOUT_MS
      const outcome = await send(
        { method: 'OPTIONS', url: target.url, headers: {}, deadlineMs, maxBodyBytes: 0 },
        signal,
      )
      if (outcome.kind === 'response') return { ok: true }
      const isLate = outcome.error === 'timeout' && outcome !== GIVEN_UP
      return isLate && load.isBusy
        ? { ok: true }
        : { ok: false, detail: `${outcome.error}: ${outcome.detail}` }
    },
    stop: works.stop,
  }
}

function signedRequest(
  { crypto, clock, publicUrl, headerPrefix }: Settings,
  target: Target,
  run: RunRequest,
) {
  const body = JSON.stringify(bodyOf(run, publicUrl()))
  const { url, signingSecret: secret } = target
  const id = `${run.messageId}.${run.attempt}`
  const signature = signatureHeaders(crypto.hmacSha256, {
    id,
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
  return { method: 'POST', url, headers: withCustomHeaders(ours, target.headers), body } as const
}

function bodyOf(run: RunRequest, publicUrl: string | undefined): JsonObject {
  const {
    messageId,
    agentId,
    sessionId,
    message,
    metadata,
    executionPrincipal,
    attempt,
    runToken: token,
  } = run
  const path = `/v1/agents/${agentId}/messages/${messageId}/response`
  const url = publicUrl === undefined ? {} : { url: publicUrl.replace(/\/+$/, '') + path }
  return {
    messageId,
    agentId,
    sessionId,
    message,
    ...(metadata && { metadata }),
    executionPrincipal,
    attempt,
    callback: { ...url, token },
  }
}
