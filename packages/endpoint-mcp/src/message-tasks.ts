import { acceptedContent, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Message, Policy, ServiceError } from '@org/agent-messaging-core'
import {
  changedAt,
  errorIn,
  isPermitted,
  isSettled,
  mayCall,
  permissionsFor,
  unless,
  type CallName,
} from '@org/agent-messaging-core/host'
import { openInput, toIso } from '@org/agent-messaging-core/storage'
import type { Requester, Sender } from '@org/agent-messaging-http-kit'
import { isUuid } from '@org/agent-messaging-core/runtime'
import { canAsk, type ClientContext } from './client.js'
import { refusalText } from './errors.js'
import { messageResult } from './message-result.js'
import type { Deps } from './options.js'
import { answerOf, DECLINED, formRequest } from './question-form.js'
import type { Task, Tasks, TaskState } from './tasks.js'

/** The request of a caller. */
export type Call = Sender & { readonly requester: Requester }

export type MessageRef = { readonly agent: string; readonly messageId: string }

/**
 * Names a message in what a client sends back: the id of a task, and the state of a call that is
 * repeated. Both are read like any input: the caller must reach the message.
 */
export const nameOf = ({ agentId, id }: Message): string => `${agentId}/${id}`

export function refOf(name: string): MessageRef | undefined {
  const [agent = '', messageId = '', ...rest] = name.split('/')
  return isUuid(agent) && isUuid(messageId) && rest.length === 0 ? { agent, messageId } : undefined
}

/** Each message is a task, which any process can read. */
export class MessageTasks implements Tasks {
  readonly #d: Deps
  readonly #call: Call

  constructor(d: Deps, call: Call) {
    this.#d = d
    this.#call = call
  }

  async get(taskId: string, ctx: ClientContext): Promise<Task> {
    const { messages, policy } = this.#d.service
    const message = await answered(messages.get(this.#refOf(taskId, 'messages.get')))
    return taskOf(message, policy, canAsk(ctx) && this.#canAnswer(message))
  }

  async update(taskId: string, answers: Readonly<Record<string, unknown>>): Promise<void> {
    const { inputs, messages } = this.#d.service
    const ref = this.#refOf(taskId, 'inputs.answer')
    const input = openInput(await answered(messages.get(ref)))
    if (!input || !Object.hasOwn(answers, input.id)) return
    const content = acceptedContent(answers, input.id)
    if (!content) throw new ProtocolError(ProtocolErrorCode.InvalidParams, DECLINED)
    const { actor } = this.#call.requester
    const answer = { ...ref, actor, inputId: input.id, value: answerOf(input, content) }
    await answered(inputs.answer(answer).catch(unless('input_closed')))
  }

  async cancel(taskId: string): Promise<void> {
    const ref = this.#refOf(taskId, 'messages.cancel')
    const { actor } = this.#call.requester
    const { messages } = this.#d.service
    await answered(messages.cancel({ ...ref, actor }).catch(unless('message_final')))
  }

  /** Checks what the route does not: each request needs another permission. */
  #refOf(taskId: string, call: CallName) {
    const { access, projectId, requester } = this.#call
    const ref = refOf(taskId)
    if (!isPermitted(requester.permissions, call) || !mayCall(access, call)) {
      const text = `The caller lacks the permission ${permissionsFor(call).join(' or ')}`
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, text)
    }
    if (!ref) throw unknownTask()
    return { ...ref, access, projectId }
  }

  /** A task names no end user. Some questions are for the end user alone. */
  #canAnswer(message: Message): boolean {
    const isForUser = message.executionPrincipal.type === 'end_user' && openInput(message)?.answerBy
    return !isForUser || this.#call.access?.principal !== undefined
  }
}

/** Returns the task of a message. Without `asks`, a question is the result of the call. */
export function taskOf(message: Message, { retention }: Policy, asks: boolean): Task {
  const changed = changedAt(message)
  const answers = (message.inputs ?? []).map(({ answer }) => answer?.answeredAt ?? 0)
  const lasts = changed - message.createdAt + retention.messagesMs
  return {
    taskId: nameOf(message),
    createdAt: toIso(message.createdAt),
    lastUpdatedAt: toIso(Math.max(changed, ...answers)),
    ttlMs: lasts === Infinity ? null : Math.round(lasts),
    ...stateOf(message, asks),
  }
}

function stateOf(message: Message, asks: boolean): TaskState {
  const { state } = message
  const input = openInput(message)
  if (state.kind === 'cancelled') return { status: 'cancelled' }
  if (input && asks)
    return { status: 'input_required', inputRequests: { [input.id]: formRequest(input) } }
  if (!isSettled(state)) return { status: 'working' }
  return { status: 'completed', result: messageResult(message) }
}

/** Turns the refusal of a call of the service into an error of JSON-RPC. */
const answered = <T>(call: Promise<T>): Promise<T> =>
  call.catch((thrown) => {
    throw protocolError(errorIn(thrown))
  })

function protocolError(error: ServiceError): ProtocolError {
  switch (error.kind) {
    case 'agent_not_found':
    case 'message_not_found':
      return unknownTask()
    case 'unavailable':
      return new ProtocolError(ProtocolErrorCode.InternalError, refusalText(error))
    default:
      return new ProtocolError(ProtocolErrorCode.InvalidParams, refusalText(error))
  }
}

const unknownTask = (): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, 'The caller has no task with this id')
