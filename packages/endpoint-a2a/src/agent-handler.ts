import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import {
  A2AError,
  RequestMalformedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { Agent, AnswerStream, Message, Sent } from '@org/agent-messaging-core'
import { isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import { mayCall, errorIn } from '@org/agent-messaging-core/host'
import { isFinal, openInput } from '@org/agent-messaging-core/storage'
import {
  idempotencyKeyProblem,
  newSession,
  revocationCheck,
  untilSettled,
  type HttpError,
  type Requester,
  type Sender,
  hasContent,
  refOf,
} from '@org/agent-messaging-http-kit'
import { AnswerEvents } from './answer-events.js'
import { questionFor, valueOf } from './answer.js'
import { a2aError, confirmKey, interrupted, rethrow } from './errors.js'
import { historyLengthOf, notTaken, readInput, type Input } from './input.js'
import { readSoFar, type SoFar } from './partial-answer.js'
import { configOf, hookOf } from './push-config.js'
import { listTasks } from './list-tasks.js'
import type { Deps } from './options.js'
import { taskOf, type TaskView } from './task.js'

type HandlerOptions = {
  readonly agent: Agent
  readonly access: Requester
  readonly card: AgentCard
  readonly sender: Sender
  readonly requestId: string
}

/** The operations of A2A on one agent, for one request. Both bindings call it. */
export class AgentHandler implements A2ARequestHandler {
  readonly access: Requester
  /** Called when a stream has been quiet for a while. */
  onQuiet: (() => void) | undefined
  readonly #deps: Deps
  readonly #options: HandlerOptions
  #stream: AnswerStream | undefined

  constructor(deps: Deps, options: HandlerOptions) {
    this.access = options.access
    this.#deps = deps
    this.#options = options
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#options.card
  }

  getAuthenticatedExtendedAgentCard(): Promise<never> {
    return Promise.reject(new UnsupportedOperationError('The agent has no extended card'))
  }

  async sendMessage(request: SendMessageRequest): Promise<Task> {
    return this.#reporting(async () => {
      const input = readInput(request)
      const waitMs = input.waits ? this.#deps.maxWaitMs : 0
      const deadline = this.#deps.now() + waitMs
      const sent = await this.#send(input, waitMs)
      const { abort, access } = this.#options.sender
      const wait = { deadline, abort, access }
      return taskOf(await untilSettled(this.#deps, sent, wait), input)
    })
  }

  async *sendMessageStream(
    request: SendMessageRequest,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const input = readInput(request)
    yield* this.#eventsOf(await this.#send(input, 0), input)
  }

  async getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    return this.#reporting(async () => {
      const { message, parts } = await this.#readSoFar(await this.#find(id))
      return taskOf(message, { historyLength: historyLengthOf(historyLength), partial: parts })
    })
  }

  async cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    return this.#reporting(async () => {
      const { actor, access } = this.access
      const ref = { ...refOf(await this.#find(id)), actor, access }
      return taskOf(await this.#deps.service.messages.cancel(ref).catch(rethrow))
    })
  }

  async listTasks(request: ListTasksRequest): Promise<ListTasksResponse> {
    return this.#reporting(async () => {
      await confirmKey(this.access)
      const { projectId, access } = this.access
      const place = { projectId, access, agent: this.#options.agent.id }
      return listTasks(this.#deps.service, place, request)
    })
  }

  async createTaskPushNotificationConfig(
    config: TaskPushNotificationConfig,
  ): Promise<TaskPushNotificationConfig> {
    return this.#reporting(async () => {
      const ref = await this.#refForHooks(config.taskId)
      const hook = { ...ref, ...hookOf(config) }
      return configOf(await this.#deps.service.hooks.set(hook).catch(rethrow))
    })
  }

  async getTaskPushNotificationConfig({
    taskId,
    id,
  }: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    const { configs } = await this.listTaskPushNotificationConfigs({ taskId })
    const found = configs.find((config) => config.id === id)
    if (!found) throw new TaskNotFoundError('The task has no push notification config with this id')
    return found
  }

  async listTaskPushNotificationConfigs({
    taskId,
  }: Pick<
    ListTaskPushNotificationConfigsRequest,
    'taskId'
  >): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.#reporting(async () => {
      const ref = await this.#refForHooks(taskId)
      const hooks = await this.#deps.service.hooks.list(ref).catch(rethrow)
      return { configs: hooks.map(configOf), nextPageToken: '' }
    })
  }

  async deleteTaskPushNotificationConfig({
    taskId,
    id,
  }: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    return this.#reporting(async () => {
      const ref = await this.#refForHooks(taskId)
      // No config has an empty id, or one that no store accepts.
      const name = isStorableText(id) ? id : ''
      await this.#deps.service.hooks.delete({ ...ref, name }).catch(rethrow)
    })
  }

  async *resubscribe({
    id,
  }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const message = await this.#find(id)
    if (isFinal(message.state))
      throw new UnsupportedOperationError('The task is final. Read it instead')
    yield* this.#eventsOf(message, {}, openInput(message)?.id)
  }

  /** Returns the error if A2A has it. Reports any other error, and hides it from the caller. */
  known(error: unknown): A2AError {
    if (error instanceof A2AError) return error
    this.#deps.onError?.(error, this.#options.requestId)
    return a2aError({ kind: 'internal' })
  }

  /** Ends an open stream. */
  async close(): Promise<void> {
    await this.#stream?.return?.()
  }

  async #send(input: Input, waitMs: number): Promise<Message> {
    const { agent, sender } = this.#options
    const { messageId, message, parts, metadata, executionPrincipal, taskId } = input
    const key = sender.idempotencyKey ?? keyOf(agent, messageId)
    const problem = idempotencyKeyProblem(key)
    if (problem) throw a2aError(problem)
    if (taskId !== undefined) return this.#answer(taskId, input)
    if (message === '') throw new RequestMalformedError('message.parts must have a text')
    const sending = this.#deps.service.messages.send({
      ...sender,
      agent: agent.id,
      sessionId:
        input.contextId ??
        newSession(this.#deps, { access: sender.access, kind: 'a2a' }, key, executionPrincipal),
      message,
      parts: parts.map(({ part }) => part),
      metadata,
      executionPrincipal,
      hook: input.hook,
      idempotencyKey: key,
      waitMs,
    })
    const sent = await sending.catch((thrown) => {
      this.access.learn(errorIn(thrown))
      throw refusedPart(errorIn(thrown), input) ?? a2aError(errorIn(thrown))
    })
    return originalOf(sent, input)
  }

  /** Answers the question of a task. Throws if the task asks nothing. */
  async #answer(taskId: string, given: Input): Promise<Message> {
    const task = await this.#find(taskId)
    if (given.contextId !== undefined && given.contextId !== task.sessionId)
      throw new RequestMalformedError('message.contextId is not the context of message.taskId')
    const question = questionFor(task, given)
    if (given.hook) {
      const ref = await this.#refForHooks(taskId)
      await this.#deps.service.hooks.set({ ...ref, ...given.hook }).catch(rethrow)
    }
    const { actor, access } = this.access
    const answering = this.#deps.service.inputs.answer({
      ...refOf(task),
      actor,
      access,
      inputId: question.id,
      value: valueOf(question, given),
      ...(given.executionPrincipal !== undefined && {
        executionPrincipal: given.executionPrincipal,
      }),
    })
    return answering.catch(rethrow)
  }

  async #reporting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw this.known(error)
    }
  }

  async #find(taskId: string): Promise<Message> {
    const { access } = this.access
    const ref = await this.#refTo(taskId)
    return this.#deps.service.messages.get({ ...ref, access }).catch(rethrow)
  }

  async #readSoFar(message: Message): Promise<SoFar> {
    const ref = { ...refOf(message), access: this.access.access }
    const stream =
      message.state.kind === 'running' &&
      (await this.#deps.service.messages.stream(ref).catch(errorIn))
    // The answer so far is left out if there are too many streams.
    return stream && 'next' in stream ? readSoFar(message, stream) : { message, parts: [] }
  }

  /** Hooks are for callers of the whole project. */
  async #refForHooks(taskId: string) {
    await confirmKey(this.access)
    if (!mayCall(this.access.access, 'hooks.set')) throw a2aError({ kind: 'access_restricted' })
    return this.#refTo(taskId)
  }

  async #refTo(taskId: string) {
    await confirmKey(this.access)
    if (!isUuid(taskId)) throw new TaskNotFoundError('The agent has no task with this id')
    const { projectId } = this.access
    return { projectId, agent: this.#options.agent.id, messageId: taskId }
  }

  async *#eventsOf(
    message: Message,
    view: TaskView,
    knownInputId?: string,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { service } = this.#deps
    const { access } = this.access
    const stream = await service.messages.stream({ ...refOf(message), access }).catch(rethrow)
    // Undefined only for a reader that has seen the final message.
    if (!stream) throw interrupted()
    this.#stream = stream
    const events = new AnswerEvents(message, view)
    const isRevoked = revocationCheck(this.access, this.#deps)
    for await (const event of stream) {
      if (await isRevoked()) {
        this.access.learn({ kind: 'unauthorized' })
        throw a2aError({ kind: 'unauthorized' })
      }
      if (event.kind === 'heartbeat') this.onQuiet?.()
      yield* events.of(event)
      if (event.kind === 'message') return
      if (event.kind === 'state' && asksAnew(event.message, knownInputId)) return
    }
    throw interrupted()
  }
}

function asksAnew(message: Message, knownInputId: string | undefined): boolean {
  const open = openInput(message)
  return open !== undefined && open.id !== knownInputId
}

/** Some clients use an id such as `1` for several messages. Only a UUID identifies one message. */
const keyOf = (agent: Agent, messageId: string): string | undefined =>
  isUuid(messageId) ? `a2a-${agent.id}-${messageId.toLowerCase()}` : undefined

/** Returns the error for the first part that core refused, in the words of A2A. */
function refusedPart(error: HttpError, { parts }: Input): A2AError | undefined {
  const [issue] = error.kind === 'invalid' ? error.issues : []
  const [, place, field = ''] = /^parts\.(\d+)(.*)$/.exec(issue?.path ?? '') ?? []
  const index = parts[Number(place)]?.index
  if (!issue || index === undefined) return undefined
  return field === ''
    ? notTaken(index, issue.message)
    : new RequestMalformedError(`message.parts[${index}]${field} ${issue.message}`)
}

/** Returns the message of the send. Throws if its id belongs to another message. */
function originalOf(sent: Sent, { message: text, parts }: Input): Message {
  if (
    hasContent(
      sent,
      text,
      parts.map(({ part }) => part),
    )
  )
    return sent.message
  throw new RequestMalformedError('message.messageId was already used with a different message')
}
