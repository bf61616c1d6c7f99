import type { Json, JsonObject } from '@org/agent-messaging-core'
import {
  failedRun,
  failure,
  given,
  parseJsonText,
  success,
  type AgentRuntime,
  type Crypto,
  type InputPart,
  type RunningAgent,
  type RunOutcome,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import { Calls } from '../calls.js'
import { ChatReply, type ChatPiece } from './chat-reply.js'
import { chatHeaders, chatResponse, withTrace } from './chat-request.js'
import { eventData } from './event-stream.js'
import { Fault } from '../fault.js'
import { parsedJson, ModelError } from './model-error.js'
import {
  openaiOptionsSchema,
  parseOpenaiOptions,
  separateSecrets,
  type OpenaiOptions,
} from './openai-options.js'
import type { OutboundHttp } from '../outbound-http.js'
import { Workload } from '../workload.js'
import { retryIn, unreadRun } from '../run-outcome.js'

export type OpenaiRuntimeOptions = {
  /** Sends all requests and decides which addresses they can reach. Use `guardedFetch`. */
  readonly fetch: typeof fetch
  readonly vet: OutboundHttp['vet']
  readonly crypto: Pick<Crypto, 'mac'>
  /** Limits an answer, in UTF-16 units. Reading stops there. The default is 1 Mi. */
  readonly maxAnswerLength?: number
}

const MAX_ANSWER_LENGTH = 1024 * 1024
/** One event can hold a whole answer with every character escaped. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024
/** The default history of a session: about 8,000 tokens, which fits small models. */
const DEFAULT_TURNS = 20
const DEFAULT_HISTORY_LENGTH = 32 * 1024

/**
 * Runs agents on an OpenAI-compatible chat endpoint: Ollama, vLLM, LiteLLM, OpenAI itself. Each run
 * sends one `POST {baseUrl}/chat/completions` with the system prompt, the session's history and the
 * message. The options are `OpenaiOptions`, with secret `apiKey` and `headers`.
 */
export function openaiRuntime(options: OpenaiRuntimeOptions): AgentRuntime {
  const settings: Settings = { maxAnswerLength: MAX_ANSWER_LENGTH, ...options }

  async function check(input: JsonObject) {
    const parsed = parseOpenaiOptions(input)
    if (!parsed.ok) return parsed
    const vetted = await settings.vet(`${parsed.value.baseUrl}/chat/completions`)
    return vetted.ok ? parsed : failure(`baseUrl ${vetted.error}`)
  }

  return {
    kind: 'openai',
    signsRequests: false,
    optionsSchema: openaiOptionsSchema,
    accepts: (part) =>
      isImage(part)
        ? undefined
        : 'is not supported: the agent takes text and files of type image/*',
    takesResponseSchema: true,
    parseOptions: async (input) => {
      const checked = await check(input)
      return checked.ok ? success(separateSecrets(checked.value)) : checked
    },
    start: async ({ agent, secrets }) => {
      const checked = await check({ ...agent.runtime.options, ...secrets })
      return checked.ok
        ? success(runningModel(settings, checked.value))
        : failure({ code: 'RUNTIME_EXITED', message: checked.error })
    },
  }
}

type Settings = Required<OpenaiRuntimeOptions>

function runningModel(
  { fetch, crypto, maxAnswerLength }: Settings,
  options: OpenaiOptions,
): RunningAgent {
  const headers = chatHeaders(options)
  const url = `${options.baseUrl}/chat/completions`
  const secrets = secretsIn(options)
  const calls = new Calls()
  const load = new Workload()

  async function run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    try {
      const body = {
        ...(await chatRequest(options, request)),
        ...userField(options, request, crypto),
      }
      const response = await chatResponse(fetch, {
        url,
        headers: withTrace(headers, request.trace),
        body,
        signal,
      })
      return await readReply(response, new ChatReply(maxAnswerLength), request.emit)
    } catch (error) {
      return chatFailure(error, signal, secrets)
    }
  }

  /** Any status below 500 shows that the server is up. `/models` can be closed to this key. */
  async function health(signal: AbortSignal): Promise<{ ok: boolean; detail?: string }> {
    try {
      const { status, body } = await fetch(`${options.baseUrl}/models`, { headers, signal })
      await body?.cancel()
      return status < 500 ? { ok: true } : { ok: false, detail: `the server answered ${status}` }
    } catch (error) {
      if (load.isBusy && error instanceof Fault && error.code === 'timeout') return { ok: true }
      return {
        ok: false,
        detail: error instanceof Error ? error.message : 'the server was not reached',
      }
    }
  }

  return {
    run: (request, caller) => {
      const running = calls.run(caller, (signal) => run(request, signal), options.timeoutMs)
      return load.count(running, caller)
    },
    health: (caller) => calls.run(caller, health, load.healthTimeoutMs),
    stop: () => calls.stop(),
  }
}

/** Returns all values that error texts must not show. Servers can quote one without its scheme. */
function secretsIn({ apiKey = '', headers = {} }: OpenaiOptions): readonly string[] {
  return [apiKey, ...Object.values(headers)]
    .flatMap((value) => [value, value.replace(/^\w+ (?=\S{8,}$)/, '')])
    .filter((secret) => secret !== '')
}

async function chatRequest(options: OpenaiOptions, request: RunRequest): Promise<JsonObject> {
  const {
    model,
    systemPrompt,
    temperature,
    maxTokens,
    maxCompletionTokens,
    stream = true,
    streamUsage = false,
  } = options
  const { maxTurns = DEFAULT_TURNS, maxLength = DEFAULT_HISTORY_LENGTH } = options.history ?? {}
  const turns = await request.history({ maxTurns, maxLength })
  const { responseSchema } = request
  return {
    model,
    messages: [
      ...(systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }]),
      ...turns.flatMap(({ message, response }) => [
        { role: 'user', content: message },
        { role: 'assistant', content: response },
      ]),
      { role: 'user', content: contentOf(request) },
    ],
    stream,
    ...(responseSchema && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'response', schema: responseSchema },
      },
    }),
    ...(stream && streamUsage && { stream_options: { include_usage: true } }),
    ...given({
      temperature,
      max_tokens: maxTokens,
      max_completion_tokens: maxCompletionTokens,
    }),
  }
}

const isImage = (part: InputPart): part is Extract<InputPart, { readonly type: 'file' }> =>
  part.type === 'file' && /^image\//i.test(part.mediaType)

/** The server of the model reads the images. */
function contentOf({ message, parts = [] }: RunRequest): Json {
  const images = parts.filter(isImage).map(({ url }) => ({ type: 'image_url', image_url: { url } }))
  return images.length === 0 ? message : [{ type: 'text', text: message }, ...images]
}

/** A stable pseudonym of the end user, different for each agent. */
function userField(
  { sendUser }: OpenaiOptions,
  { agentId, executionPrincipal }: RunRequest,
  crypto: Pick<Crypto, 'mac'>,
) {
  if (!sendUser || executionPrincipal.type !== 'end_user') return {}
  return { [sendUser]: crypto.mac('openai-user', `${agentId}:${executionPrincipal.endUserId}`) }
}

/** Some servers respond in one piece although the request asks for a stream. */
async function readReply(
  response: Response,
  reply: ChatReply,
  emit: RunRequest['emit'],
): Promise<RunOutcome> {
  const show = ({ text, reasoning }: ChatPiece): void => {
    if (reasoning !== '') emit({ type: 'reasoning-delta', id: 'reasoning', text: reasoning })
    if (text !== '') emit(text)
  }
  if (!response.body || JSON_TYPE.test(response.headers.get('content-type') ?? '')) {
    const text = await response.text()
    const isJson = parsedJson(text) !== undefined
    if (response.body && !hasFraming(response) && !isJson) return reply.outcome(false)
    show({ ...reply.add(parseJsonText(text)), text: '' })
    return reply.outcome(true)
  }
  let isDone = false
  for await (const { data, isEnded } of eventData(response.body, MAX_EVENT_LENGTH)) {
    isDone = data.startsWith('[DONE]')
    // The stream was cut within this event.
    if (!isDone && !isEnded && parsedJson(data) === undefined) break
    if (isDone) break
    const piece = reply.add(parseJsonText(data))
    if (reply.isTooLong) break
    show(piece)
  }
  return reply.outcome(isDone)
}

const JSON_TYPE = /^[^;]*json\s*(?:;|$)/i

/** False if the response ends with its connection, even if the server crashed. */
const hasFraming = ({ headers }: Response) =>
  headers.has('content-length') || headers.has('transfer-encoding')

/** A retry after one of these statuses can succeed. The same holds for every 5xx. */
const RETRYABLE_STATUS = new Set([408, 409, 425, 429])
const MAX_TEXT_LENGTH = 500
const NOT_TOLD = { status: undefined, retryAfter: null }

/** Turns an error from a request to the model into the run's outcome. Masks all `secrets` in it. */
function chatFailure(error: unknown, signal: AbortSignal, secrets: readonly string[]): RunOutcome {
  const unread = unreadRun(error, signal)
  if (unread) return unread
  if (error instanceof SyntaxError)
    return failedRun('RESPONSE_INVALID', "the model server's response is not valid JSON")
  const text = safeText(error instanceof Error ? error.message : String(error), secrets)
  const message = `the request to the model failed: ${text}`
  const { status, retryAfter } = error instanceof ModelError ? error : NOT_TOLD
  const isFinal = status !== undefined && status < 500 && !RETRYABLE_STATUS.has(status)
  if (isFinal) return failedRun('RUNTIME_ERROR', message)
  return {
    ...failedRun('RUNTIME_ERROR', message, true),
    ...retryIn(retryAfter, Date.now()),
  }
}

/** Masks secrets in a server's text, shortens it, and replaces characters that cannot be stored. */
function safeText(text: string, secrets: readonly string[]) {
  const masked = secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
  const cut = masked.length > MAX_TEXT_LENGTH ? `${masked.slice(0, MAX_TEXT_LENGTH)}…` : masked
  return cut.replace(/\p{Cc}+/gu, ' ').replace(/\p{Surrogate}/gu, '\uFFFD')
}
