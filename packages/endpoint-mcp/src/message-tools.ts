import {
  acceptedContent,
  inputRequired,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Message, MessagingService, JsonObject, Sent } from '@org/agent-messaging-core'
import { isUuid } from '@org/agent-messaging-core/runtime'
import { errorIn, isSettled, type ByAccess } from '@org/agent-messaging-core/host'
import { openInput } from '@org/agent-messaging-core/storage'
import { newSession, isAgentRef, principalOf } from '@org/agent-messaging-http-kit'
import { canAsk } from './client.js'
import { failure, refusal } from './errors.js'
import { messageResult } from './message-result.js'
import { nameOf, refOf, taskOf, type Call, type MessageRef } from './message-tasks.js'
import type { Deps } from './options.js'
import { wantsProgress, withProgress } from './progress.js'
import { answerOf, DECLINED, formRequest } from './question-form.js'
import type {
  AnswerInputInput,
  CancelMessageInput,
  GetMessageInput,
  SendMessageInput,
} from './schemas.js'
import { createdTask, takesTasks } from './tasks.js'

export type Outcome = CallToolResult | InputRequiredResult

/** How long a call waits before it becomes a task. */
const TASK_AFTER_MS = 2_000
/** A call that tells its progress first waits this long. Most answers come earlier. */
const READ_AFTER_MS = 500

/** The parts of a call that a tool reads beside its arguments. */
export type ToolContext = Pick<
  ServerContext['mcpReq'],
  'requestState' | 'inputResponses' | 'envelope' | '_meta' | 'notify'
>

type Reading = Pick<GetMessageInput, 'agent' | 'messageId' | 'endUserId' | 'wait'>
type Waiting = Pick<Reading, 'wait'>

/**
 * The tools that send, read and answer.
 *
 * If a message asks and the client can ask its user, the result is a form. The client repeats the
 * call with the answer of its user, and with a state that names the message.
 *
 * A call that waits for too long becomes a task, if the client can read tasks.
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
    if (!isAgentRef(agent)) return refusal({ kind: 'agent_not_found' })
    const given = {
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
    }
    const waitMs = this.#waitMsOf(input, ctx)
    const reads = wantsProgress(ctx) && waitMs > READ_AFTER_MS
    const sending = this.#onceStarted(reads ? READ_AFTER_MS : waitMs, (ms) =>
      service.messages.send({ ...given, waitMs: ms }),
    )
    const { message: sent } = await sending.catch((thrown) => {
      requester.learn(errorIn(thrown))
      throw thrown
    })
    requester.learn(undefined)
    if (!reads || isSettled(sent.state)) return this.#outcomeOf(sent, input, ctx)
    const ref = this.#refOf({ agent: sent.agentId, messageId: sent.id })
    return this.#read(ref, input, ctx, waitMs - READ_AFTER_MS)
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

  async cancel(input: CancelMessageInput): Promise<Outcome> {
    const ref = this.#refOf(input)
    if (!isMessage(ref)) return refusal({ kind: 'message_not_found' })
    const { actor } = this.#call.requester
    const cancelled = await this.#d.service.messages.cancel({ ...ref, actor })
    return { ...messageResult(cancelled), isError: false }
  }

  /** Answers in the name of the key. */
  #answer(answer: Parameters<MessagingService['inputs']['answer']>[0]) {
    return this.#d.service.inputs.answer({ ...answer, actor: this.#call.requester.actor })
  }

  async #read(
    ref: ProjectRef,
    input: Waiting,
    ctx: ToolContext,
    waitMs = this.#waitMsOf(input, ctx),
  ): Promise<Outcome> {
    const { messages } = this.#d.service
    const { abort } = this.#call
    const read = () => messages.get({ ...ref, waitMs, abort })
    const message =
      wantsProgress(ctx) && waitMs > 0
        ? await withProgress(ctx, () => messages.stream(ref), read)
        : await read()
    return this.#outcomeOf(message, input, ctx)
  }

  /** Repeats a short send while its agent starts, so that it waits as long as any other. */
  async #onceStarted(waitMs: number, send: (waitMs: number) => Promise<Sent>): Promise<Sent> {
    const { now, service } = this.#d
    const deadline = now() + service.policy.syncWaitMs
    for (;;) {
      const startedAt = now()
      try {
        return await send(waitMs)
      } catch (thrown) {
        const error = errorIn(thrown)
        const isStarting = error.kind === 'agent_not_running' && error.state === 'starting'
        const hasWaited = waitMs > 0 && now() - startedAt >= waitMs / 2
        if (!isStarting || !hasWaited || now() >= deadline) throw thrown
      }
    }
  }

  #outcomeOf(message: Message, { wait }: Waiting, ctx: ToolContext): Outcome {
    if (wait !== false && takesTasks(ctx) && !isSettled(message.state))
      return createdTask(taskOf(message, this.#d.service.policy, false))
    return (canAsk(ctx) ? formResult(message) : undefined) ?? messageResult(message)
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

  #waitMsOf({ wait }: Waiting, ctx: ToolContext): number {
    const { service, taskAfterMs = TASK_AFTER_MS } = this.#d
    const { syncWaitMs } = service.policy
    if (wait === false) return 0
    return takesTasks(ctx) ? Math.min(taskAfterMs, syncWaitMs) : syncWaitMs
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

function formResult(message: Message, problem?: string): InputRequiredResult | undefined {
  const input = openInput(message)
  if (!input) return undefined
  const text = problem === undefined ? input.question : `${input.question}\n\n${problem}`
  const inputRequests = { [input.id]: formRequest(input, text) }
  return inputRequired({ inputRequests, requestState: nameOf(message) })
}

const isMessage = ({ agent, messageId }: MessageRef): boolean =>
  isAgentRef(agent) && isUuid(messageId)
