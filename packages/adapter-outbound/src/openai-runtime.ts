import type {
  AgentRuntime,
  Crypto,
  Json,
  JsonObject,
  RunningAgent,
  RunOutcome,
  RunRequest,
} from '@org/agent-messaging-core/runtime'
import { err, ok, type Result } from 'neverthrow'
import type { OpenAI } from 'openai'
import { chatFailure } from './chat-failure.js'
import { ChatReply } from './chat-reply.js'
import { eventData } from './event-stream.js'
import { chatHeaders, openaiClient } from './openai-client.js'
import { parseOpenaiOptions, partSecrets, type OpenaiOptions } from './openai-options.js'
import type { OutboundHttp } from './outbound-http.js'
import { Fault } from './fault.js'
import { underWay } from './under-way.js'
import { BUSY_HEALTH_TIMEOUT_MS, HEALTH_TIMEOUT_MS, workload } from './workload.js'

export type OpenaiRuntimeOptions = {
  /** Sends everything, so it decides where requests may go; `guardedFetch` is meant. */
  readonly fetch: typeof fetch
  readonly vet: OutboundHttp['vet']
  readonly crypto: Pick<Crypto, 'mac'>
  /** Of an answer, in UTF-16 units; 1 Mi unless given. Reading stops there. */
  readonly maxAnswerLength?: number
}

const MAX_ANSWER_LENGTH = 1024 * 1024
/** Of one event, which may be a whole answer with each character of it escaped. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024
/** Of a session's past, unless the agent says otherwise: some 8,000 tokens, which small models take too. */
const DEFAULT_TURNS = 20
const DEFAULT_HISTORY_LENGTH = 32 * 1024

/**
 * Models behind an OpenAI-compatible chat endpoint: Ollama, vLLM, LiteLLM, OpenAI itself. Each run is one
 * `POST {baseUrl}/chat/completions` of the system prompt, the session's past and the message. Options: `OpenaiOptions`, of
 * which `apiKey` and `headers` are secret.
 */
export function openaiRuntime(options: OpenaiRuntimeOptions): AgentRuntime {
  const settings: Settings = { maxAnswerLength: MAX_ANSWER_LENGTH, ...options }

  async function check(input: JsonObject): Promise<Result<OpenaiOptions, string>> {
    const parsed = parseOpenaiOptions(input)
    if (parsed.isErr()) return parsed
    const vetted = await settings.vet(`${parsed.value.baseUrl}/chat/completions`)
    return vetted.map(() => parsed.value).mapErr((reason) => `baseUrl ${reason}`)
  }

  return {
    kind: 'openai',
    signsRequests: false,
    parseOptions: async (input) => (await check(input)).map(partSecrets),
    start: async ({ agent, secrets }) => {
      const checked = await check({ ...agent.runtime.options, ...secrets })
      return checked.isOk()
        ? ok(await runningModel(settings, checked.value))
        : err({ code: 'RUNTIME_EXITED', message: checked.error })
    },
  }
}

type Settings = Required<OpenaiRuntimeOptions>

async function runningModel(
  { fetch, crypto, maxAnswerLength }: Settings,
  options: OpenaiOptions,
): Promise<RunningAgent> {
  const headers = chatHeaders(options)
  const client = await openaiClient(options.baseUrl, headers, fetch)
  const sent = [options.apiKey ?? '', ...Object.values(options.headers ?? {})]
  // A scheme such as `Bearer` may be left out of what is sent back.
  const secrets = sent
    .flatMap((value) => [value, value.replace(/^\w+ (?=\S{8,}$)/, '')])
    .filter((secret) => secret !== '')
  const works = underWay()
  const load = workload()

  async function run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    try {
      const body = {
        ...(await chatRequest(options, request)),
        ...userField(options, request, crypto),
      }
      const response = await client.chat.completions.create(body, { signal }).asResponse()
      return await readReply(response, new ChatReply(maxAnswerLength), request.emit)
    } catch (error) {
      return chatFailure(error, signal, secrets)
    }
  }

  /** Any answer that is not the server's own failure shows that it is up; `/models` may well be closed to this key. */
  async function health(signal: AbortSignal): Promise<{ ok: boolean; detail?: string }> {
    try {
      const { status, body } = await fetch(`${options.baseUrl}/models`, { headers, signal })
      await body?.cancel()
      return status < 500 ? { ok: true } : { ok: false, detail: `the server answered ${status}` }
    } catch (error) {
      if (load.isBusy && error instanceof Fault && error.code === 'timeout') return { ok: true }
      return { ok: false, detail: error instanceof Error ? error.message : 'not reached' }
    }
  }

  return {
    run: (request, callers) => {
      const asked = works.add(callers, (signal) => run(request, signal), options.timeoutMs)
      return load.count(asked, callers)
    },
    health: (callers) =>
      works.add(callers, health, load.isBusy ? BUSY_HEALTH_TIMEOUT_MS : HEALTH_TIMEOUT_MS),
    stop: works.stop,
  }
}

async function chatRequest(
  options: OpenaiOptions,
  request: RunRequest,
): Promise<OpenAI.ChatCompletionCreateParams> {
  const {
    model,
    systemPrompt,
    temperature,
    maxTokens,
    maxCompletionTokens,
    stream = true,
  } = options
  const { maxTurns = DEFAULT_TURNS, maxLength = DEFAULT_HISTORY_LENGTH } = options.history ?? {}
  const turns = await request.history({ maxTurns, maxLength })
  return {
    model,
    messages: [
      ...(systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt } as const]),
      ...turns.flatMap(({ message, response }) => [
        { role: 'user', content: message } as const,
        { role: 'assistant', content: response } as const,
      ]),
      { role: 'user', content: request.message },
    ],
    stream,
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(maxCompletionTokens !== undefined && { max_completion_tokens: maxCompletionTokens }),
  }
}

/** A name for the end user that is always the same, differs between agents, and does not lead back to their id. */
function userField(
  { sendUser }: OpenaiOptions,
  { agentId, executionPrincipal }: RunRequest,
  crypto: Pick<Crypto, 'mac'>,
) {
  if (!sendUser || executionPrincipal.type !== 'end_user') return {}
  return { [sendUser]: crypto.mac('openai-user', `${agentId}:${executionPrincipal.endUserId}`) }
}

/** Some servers answer in one piece although they were asked to stream. */
async function readReply(
  response: Response,
  reply: ChatReply,
  emit: (text: string) => void,
): Promise<RunOutcome> {
  if (!response.body || JSON_TYPE.test(response.headers.get('content-type') ?? '')) {
    const text = await response.text()
    if (response.body && !saysLength(response) && !isJson(text)) return reply.outcome(false)
    reply.add(JSON.parse(text) as Json)
    return reply.outcome(true)
  }
  let isDone = false
  for await (const { data, isEnded } of eventData(response.body, MAX_EVENT_LENGTH)) {
    isDone = data.startsWith('[DONE]')
    if (!isDone && !isEnded && !isJson(data)) break // the stream was cut in the middle of it
    const text = isDone ? '' : reply.add(JSON.parse(data) as Json)
    if (isDone || reply.isTooLong) break
    if (text !== '') emit(text)
  }
  return reply.outcome(isDone)
}

const JSON_TYPE = /^[^;]*json\s*(?:;|$)/i

/** Without, the end of the connection is the end of the answer, whether its server meant it or died. */
const saysLength = ({ headers }: Response): boolean =>
  headers.has('content-length') || headers.has('transfer-encoding')

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
