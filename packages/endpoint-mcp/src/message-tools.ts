import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Message, MessagingService, JsonObject } from '@org/agent-messaging-core'
import { isUuid } from '@org/agent-messaging-core/runtime'
import { isAgentName, errorIn, type ByAccess } from '@org/agent-messaging-core/host'
import { openInput } from '@org/agent-messaging-core/storage'
import { newSession, type Requester, type Sender } from '@org/agent-messaging-http-kit'
import { failure, refusal } from './errors.js'
import { messageResult } from './message-result.js'
import type { Deps } from './options.js'
import { answerOf, formOf } from './question-form.js'
import type { AnswerInputInput, GetMessageInput, SendMessageInput } from './schemas.js'

/** The request that calls a tool. */
export type Call = Sender & { readonly requester: Requester }

export type Outcome = CallToolResult | InputRequiredResult

/** The parts of a call that a tool reads beside its arguments. */
export type ToolContext = Pick<
  ServerContext['mcpReq'],
  'requestState' | 'inputResponses' | 'envelope' | '_meta'
>

type MessageRef = { readonly agent: string; readonly messageId: string }
type Reading = Pick<GetMessageInput, 'agent' | 'messageId' | 'endUserId' | 'wait'>

/**
 * The tools that send, read and answer.
 *
 * If a message asks and the client can ask its user, the result is a form. The client repeats the
 * call with the answer of its user, and with a state that names the message.
 */
export class MessageTools {
  readonly #d: Deps
  readonly #call: Call

  constructor(d: Deps, call: Call) {
    this.#d = d
    this.#call = call
  }

  async send(input: SendMessageInput, ctx: ToolContext): Promise<Outcome> {
    const state = ctx.requestState<string>()
    if (state !== undefined) {
      const ref = refOf(state)
      return ref ? this.get({ ...input, ...ref }, ctx) : failure(FOREIGN_STATE)
    }
    const { service } = this.#d
    const { requester, ...sender } = this.#call
    const { access } = sender
    const { agent, message, metadata, idempotencyKey, endUserId } = input
    if (!isAgent(agent)) return refusal({ kind: 'agent_not_found' })
    const sending = service.messages.send({
      ...sender,
      agent,
      sessionId:
        input.sessionId ??
        newSession(this.#d, { access, kind: 'mcp' }, idempotencyKey, endUserId, message),
      message,
      metadata: metadata as JsonObject | undefined,
      executionPrincipal: principalOf(endUserId),
      idempotencyKey,
      ...traceOf(this.#call, ctx),
      waitMs: this.#waitMsOf(input),
    })
    const sent = await sending.catch((thrown) => {
      requester.learn(errorIn(thrown))
      throw thrown
    })
    requester.learn(undefined)
    return outcomeOf(sent.message, ctx)
  }

  async get(input: Reading, ctx: ToolContext): Promise<Outcome> {
    const ref = this.#refOf(input)
    if (!isMessage(ref)) return refusal({ kind: 'message_not_found' })
    const early = await this.#takeForm(ref, input, ctx)
    if (early) return early
    return this.#read(ref, input, ctx)
  }

  async answer(input: AnswerInputInput, ctx: ToolContext): Promise<Outcome> {
    // The form of a later question.
    if (ctx.inputResponses !== undefined) return this.get(input, ctx)
    const ref = this.#refOf(input)
    const { inputId, value, endUserId } = input
    if (!isMessage(ref)) return refusal({ kind: 'message_not_found' })
    if (!isUuid(inputId)) return refusal({ kind: 'input_not_found' })
    const executionPrincipal = principalOf(endUserId)
    const answer = { ...ref, inputId, value, executionPrincipal }
    await this.#answer(answer)
    return this.#read(ref, input, ctx)
  }

  /** Answers in the name of the key. */
  #answer(answer: Parameters<MessagingService['inputs']['answer']>[0]) {
    return this.#d.service.inputs.answer({ ...answer, actor: this.#call.requester.actor })
  }

  async #read(ref: ProjectRef, input: Reading, ctx: ToolContext): Promise<Outcome> {
    const waitMs = this.#waitMsOf(input)
    const { abort } = this.#call
    return outcomeOf(await this.#d.service.messages.get({ ...ref, waitMs, abort }), ctx)
  }

  /** Stores the answer of a form. Returns a result if there is nothing to wait for. */
  async #takeForm(
    ref: ProjectRef,
    { endUserId }: Reading,
    ctx: ToolContext,
  ): Promise<Outcome | undefined> {
    const { inputResponses } = ctx
    const [inputId] = Object.keys(inputResponses ?? {})
    if (inputId === undefined) return undefined
    const message = await this.#d.service.messages.get(ref)
    const input = message.inputs?.find(({ id }) => id === inputId)
    if (!input) return refusal({ kind: 'input_not_found' })
    const content = acceptedContent(inputResponses, inputId)
    if (content === undefined) return messageResult(message, DECLINED)
    const executionPrincipal = principalOf(endUserId)
    const answer = { ...ref, inputId, value: answerOf(input, content), executionPrincipal }
    const error = await this.#answer(answer).then(() => undefined, errorIn)
    if (error?.kind !== 'invalid') return error && refusal(error)
    const [issue] = error.issues
    return formResult(message, `The last answer ${issue?.message}.`) ?? messageResult(message)
  }

  #refOf({ agent, messageId }: MessageRef): ProjectRef {
    const { projectId, access } = this.#call
    return { projectId, access, agent, messageId }
  }

  #waitMsOf({ wait }: { readonly wait?: boolean | undefined }): number {
    return wait === false ? 0 : this.#d.service.policy.syncWaitMs
  }
}

/**
 * The trace of the call itself comes before the trace of its request, which can have other calls.
 */
function traceOf({ traceparent, tracestate }: Call, { _meta = {} }: ToolContext) {
  const own: Record<string, unknown> = _meta
  if (typeof own['traceparent'] !== 'string') return { traceparent, tracestate }
  const { tracestate: state } = own
  return {
    traceparent: own['traceparent'],
    tracestate: typeof state === 'string' ? state : undefined,
  }
}

type ProjectRef = MessageRef & { readonly projectId: string } & ByAccess

const FOREIGN_STATE = 'request_state_invalid: requestState was not created by this server'
const DECLINED =
  'The user did not answer. The question stays open. Answer it later with answer_input.'

/** A question becomes a form if the client can show one. */
const outcomeOf = (message: Message, ctx: ToolContext): Outcome =>
  (canAsk(ctx) ? formResult(message) : undefined) ?? messageResult(message)

function formResult(message: Message, problem?: string): InputRequiredResult | undefined {
  const input = openInput(message)
  if (!input) return undefined
  const text = problem === undefined ? input.question : `${input.question}\n\n${problem}`
  const form = inputRequired.elicit({ message: text, requestedSchema: formOf(input) })
  return inputRequired({ inputRequests: { [input.id]: form }, requestState: stateOf(message) })
}

/** The SDK checks these fields, and its type leaves them out. */
type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities }

/** Requests of earlier revisions do not say what their client can do. */
function canAsk({ envelope: sent = {} }: ToolContext): boolean {
  const envelope: Envelope = sent
  const elicitation = envelope[CLIENT_CAPABILITIES_META_KEY]?.elicitation
  if (elicitation === undefined) return false
  return elicitation.form !== undefined || elicitation.url === undefined
}

/**
 * Names the message of a call that is repeated. The client holds the state, so it is read like any
 * input: the message must belong to the project of the key.
 */
const stateOf = ({ agentId, id }: Message): string => `${agentId}/${id}`

function refOf(state: string): MessageRef | undefined {
  const [agent = '', messageId = ''] = state.split('/')
  return isUuid(agent) && isUuid(messageId) ? { agent, messageId } : undefined
}

const isAgent = (agent: string): boolean => isAgentName(agent) || isUuid(agent)

const isMessage = ({ agent, messageId }: MessageRef): boolean => isAgent(agent) && isUuid(messageId)

const principalOf = (endUserId: string | undefined) =>
  endUserId === undefined ? undefined : { type: 'end_user', endUserId }
