import type { Answer as AnswerOf } from './answer.js'
import type { CreateAgentError, CreateAgentInput, CreatedAgent } from './agents/create-agent.js'
import type { DeclareAgentsError, DeclareAgentsInput } from './agents/declare-agents.js'
import type {
  AgentRef,
  DeleteAgentInput,
  UpdateAgentError,
  UpdateAgentInput,
} from './agents/manage-agents.js'
import type {
  EraseSessionError,
  EraseSessionInput,
  ListSessionsInput,
} from './agents/manage-sessions.js'
import type { Agent } from './domain/agents/agent.js'
import type { ApiKey, PlatformKey } from './domain/access/api-key.js'
import type { AccessRestricted, ByAccess } from './domain/access/access.js'
import type { AuditEntry, ByActor } from './domain/access/audit.js'
import type { WebhookDelivery } from './domain/webhooks/delivery.js'
import type { Turn } from './domain/messages/history.js'
import type { Invalid } from './domain/values/input-rules.js'
import type { HostCalls } from './host-calls.js'
import type { ListInput, PageInput } from './domain/values/page-rules.js'
import type { TaskHook } from './domain/messages/message-hook.js'
import type { Message } from './domain/messages/message.js'
import type { MessageRun } from './domain/messages/past-run.js'
import type { EventType, ListedEventType } from './domain/webhooks/event-type.js'
import type { SubscribableEvent } from './domain/webhooks/event.js'
import type { ReadWebhook, Webhook } from './domain/webhooks/webhook.js'
import type {
  CancelMessageError,
  RetryFailedInput,
  RetryMessageError,
  SetMetadataInput,
} from './messages/change-messages.js'
import type { SendInput } from './messages/draft-message.js'
import type { SendingKey } from './messages/earlier-reads.js'
import type { CreateSessionTokenInput, SessionToken } from './messages/session-token.js'
import type {
  AnswerInputError,
  AnswerInputInput,
  InputRef,
  ListInputsInput,
} from './messages/inputs.js'
import type { SetHookInput } from './messages/message-hooks.js'
import type {
  CountMessagesInput,
  FoundMessage,
  GetMessageError,
  GetMessageInput,
  ListMessagesInput,
  MessageRef,
  ReadHistoryInput,
  SearchMessagesInput,
} from './messages/read-messages.js'
import type { MessageStory, ReadStoryInput } from './messages/read-story.js'
import type {
  PublishBatchInput,
  PublishedBatch,
  PublishedEvent,
  PublishError,
  PublishInput,
} from './messages/publish-events.js'
import type { EventRef } from './webhooks/read-events.js'
import type { ListedEvent, StoredEvent } from './ports/event-store.js'
import type { EnqueueInput, SendError, Sent } from './messages/send-message.js'
import type { AnswerStream } from './messages/stream/stream-feed.js'
import type { StreamMessageError, StreamMessageInput } from './messages/stream/stream-message.js'
import type {
  CountPrincipalInput,
  ErasePrincipalInput,
  PrincipalTraces,
} from './operations/erase-principal.js'
import type {
  CreatedKey,
  CreatedPlatformKey,
  CreatedProject,
  CreateKeyError,
  CreateKeyInput,
  CreatePlatformKeyInput,
  CreateProjectInput,
  KeyRef,
  UpdateProjectInput,
} from './operations/manage-credentials.js'
import type {
  CreatedPortal,
  CreatePortalError,
  CreatePortalInput,
  PortalRef,
} from './operations/manage-portals.js'
import type { Pass } from './operations/pass.js'
import type { Backlog } from './operations/read-backlog.js'
import type { ProjectOverview } from './operations/read-projects.js'
import type { Failures, ReadFailuresInput } from './operations/read-failures.js'
import type { ProjectStats, ReadStatsInput } from './operations/read-stats.js'
import type { ResealedSecrets, ResealInput } from './operations/reseal-secrets.js'
import type { Policy } from './policy.js'
import type { AuditFilter } from './ports/audit-store.js'
import type { Project } from './ports/credential-store.js'
import type { DeliveryDetail } from './ports/delivery-store.js'
import type { DeliveryAttempt } from './domain/webhooks/delivery.js'
import type { SessionSummary } from './ports/message-store.js'
import type { Recovery } from './ports/recovery-store.js'
import type { Page, Unavailable } from './ports/stored.js'
import type { DeliveryRef, ListDeliveriesInput } from './webhooks/manage-deliveries.js'
import type { DeliveryStory, EventStory, EventStoryRef } from './webhooks/read-receivers.js'
import type {
  CreatedWebhook,
  CreateWebhookError,
  CreateWebhookInput,
  RotateSecretInput,
  UpdateWebhookInput,
  WebhookRef,
  TestEventInput,
} from './webhooks/manage-webhooks.js'
import type {
  EventTypeOwner,
  EventTypeRef,
  PutEventTypeError,
  PutEventTypeInput,
} from './webhooks/event-types.js'
import type { ListenInput } from './webhooks/event-listener.js'
import type { Listening } from './webhooks/event-listeners.js'
import type {
  EventsOfLog,
  ListEventsInput,
  ReadEventsError,
  ReadEventsInput,
} from './webhooks/read-events.js'
import type { RecoveryRef, StartRecoveryInput } from './webhooks/recoveries.js'

type Refusal<Kind extends string> = { readonly kind: Kind }
/** The answer of a call that can also fail because the storage is unavailable. */
type Answer<Value, Refused = never> = AnswerOf<Value, Refused | Unavailable>
type Paged<Row, Refused = never> = Answer<Page<Row>, Refused | Invalid>

/**
 * The service, to embed in a host or to put behind HTTP. Every call resolves to its value, or
 * rejects with a `MessagingError` of the kinds that its type names, or `invalid` if a field has a
 * wrong type. The audit log records the calls that have an `actor`.
 */
export interface MessagingService {
  readonly messages: MessageCalls
  readonly hooks: HookCalls
  readonly inputs: InputCalls
  readonly agents: AgentCalls
  readonly sessions: SessionCalls
  readonly webhooks: WebhookCalls
  readonly deliveries: DeliveryCalls
  readonly recoveries: RecoveryCalls
  readonly events: EventCalls
  readonly eventTypes: EventTypeCalls
  readonly principals: PrincipalCalls
  readonly projects: ProjectCalls
  readonly keys: KeyCalls
  readonly platformKeys: PlatformKeyCalls
  readonly sessionTokens: {
    /**
     * Makes a token that opens some sessions, for example in a browser. It can send, read, stream,
     * cancel, retry and answer there. It is not stored: it ends at its time, or with its key.
     */
    create(input: CreateSessionTokenInput): AnswerOf<SessionToken, Invalid>
  }
  readonly portals: PortalCalls
  readonly auditLog: {
    /** Lists changes, newest first. Without `projectId`, those of all projects. */
    list(input?: AuditFilter & PageInput): Paged<AuditEntry>
  }
  readonly secrets: {
    /**
     * Reseals, with the present master key, the secrets and headers of webhooks and the secrets of
     * agents. The last step writes the digests of declared agents again. A secret that no key opens
     * stays as it is. A call does one step. A repeated call, from any position, does the rest. After
     * the last step only the present key opens the storage, unless the walk found a secret that no key
     * opens.
     */
    reseal(input?: ResealInput): Answer<ResealedSecrets>
  }
  readonly policy: Policy
  /** The calls of a server in front of the service. */
  readonly host: HostCalls
  /** Returns the open work of the project, by default of all projects, for every process. */
  backlog(input?: { readonly projectId?: string | undefined }): Answer<Backlog>
  /**
   * Returns the exact counts of a project, or of each of its agents or webhooks, by step of time.
   */
  stats(input: ReadStatsInput): Answer<ProjectStats, Invalid>
  /**
   * Returns the agents and webhooks of a project that fail now, or failed since `from`: up to 100,
   * each with exact counts by reason and the newest example. Hooks of messages are left out.
   */
  failures(input: ReadFailuresInput): Answer<Failures, Invalid>
  /**
   * Does one bounded pass of all due work: agents, messages, deliveries, and maintenance until it is
   * done. A finished run or attempt makes room for the next one, so nothing slow holds up the rest.
   * The pass ends when nothing is left, or the budget or the rounds are used up. Its runs and
   * attempts then continue under their leases. Any number of passes can run at once, in any number
   * of processes, because claims keep them apart.
   */
  tick(budget: { readonly budgetMs: number }): Promise<Pass>
  /**
   * Starts the workers, once the storage is there. Resolves after the first look at the agents.
   * A stopped service cannot start again.
   */
  start(): Promise<void>
  /**
   * Drains: waiting callers get their message as it is, streams end, and no new work begins.
   * Runs and attempts in flight get `graceMs`, by default 10 seconds. After it, runs are aborted and
   * released for another process or the next start. If the storage is unavailable, outcomes get a
   * few more tries. The storage stays open.
   */
  stop(grace?: { readonly graceMs?: number }): Promise<void>
}

interface MessageCalls {
  /** Stores the message durably, once per key, and waits a bounded time for its answer. */
  send(input: SendInput): AnswerOf<Sent, SendError>
  /**
   * Accepts the message in a transaction of the host, such as the one that writes the order which
   * the message is about. Both commit, or neither. The message is queued, and a process that runs the
   * agent is woken at the end of the transaction. The call does not wait for the answer.
   */
  enqueue(input: EnqueueInput): AnswerOf<Sent, SendError>
  /** Returns a message in its present state. */
  get(input: GetMessageInput): AnswerOf<Message, GetMessageError>
  /**
   * Returns the answered turns of the session up to the message, with the message, oldest first.
   * Drops the oldest ones that do not fit.
   */
  history(input: ReadHistoryInput): AnswerOf<readonly Turn[], GetMessageError>
  /**
   * Returns the runs of a message, oldest first, each with the reason of its end. Of the runs that
   * ended without an answer, returns the newest 100.
   */
  runs(ref: MessageRef): AnswerOf<readonly MessageRun[], GetMessageError>
  /**
   * Says in a few sentences why a message has no answer, or which receivers do not have it and why.
   * Has the message, its runs and its newest deliveries with their attempts.
   */
  story(input: ReadStoryInput): Answer<MessageStory, Refusal<'message_not_found'>>
  /**
   * Lists an agent's messages, newest first by default. Messages of one session come in the order of
   * their places. A page with much text ends before its limit.
   */
  list(input: ListMessagesInput): Paged<Message, Refusal<'agent_not_found'>>
  /** Counts an agent's messages, up to `most`. */
  count(input: CountMessagesInput): Answer<number, Invalid | Refusal<'agent_not_found'>>
  /**
   * Finds messages of all agents of the project, or of one, newest first. A page can have fewer messages than
   * its limit, or none, and still a `nextCursor`. `lookedBackTo` says how far it looked. Searches
   * for a text wait in a separate queue, because they take long.
   */
  search(
    input: SearchMessagesInput,
  ): Paged<FoundMessage, AccessRestricted | Refusal<'agent_not_found'>>
  /**
   * Streams a message until it is final. Returns undefined if the caller has seen the final message.
   */
  stream(input: StreamMessageInput): AnswerOf<AnswerStream | undefined, StreamMessageError>
  /**
   * Ends an open message. Waiting callers are answered at once, its run is aborted and its answer
   * refused, and webhooks get `message.cancelled`, and `agent.error` with the code CANCELLED. A
   * repeated call returns the same.
   */
  cancel(ref: MessageRef & ByActor & ByAccess): AnswerOf<Message, CancelMessageError>
  /**
   * Puts a failed or cancelled message at the end of its session's queue, with its attempts at 0.
   * The agent must run and the session must have room, as for a new message. The message keeps its
   * id, its principal and its idempotency key.
   */
  retry(ref: MessageRef & ByActor & ByAccess): AnswerOf<Message, RetryMessageError>
  /**
   * Starts a task that retries all failed messages of an agent, the oldest first and each once. The
   * task survives crashes. It waits while the agent does not run, and for room in full sessions.
   * `recoveries` has its progress.
   */
  retryFailed(
    input: RetryFailedInput,
  ): Answer<Recovery, Invalid | Refusal<'agent_not_found' | 'too_many_recoveries'>>
  /** Replaces the metadata of a message. Events that were committed before keep theirs. */
  setMetadata(input: SetMetadataInput): AnswerOf<Message, GetMessageError | Invalid>
}

/** Receivers of the events of one message, in the form of A2A's push notifications. */
interface HookCalls {
  /**
   * Sets a hook of a message. The message's next event gets a delivery for the hook. A hook with the
   * same name is changed, and its waiting deliveries go to the new URL.
   */
  set(input: SetHookInput): AnswerOf<TaskHook, GetMessageError | Invalid>
  /** Lists the hooks of a message, oldest first. */
  list(ref: MessageRef): AnswerOf<readonly TaskHook[], GetMessageError>
  /** Deletes a hook with its deliveries. Returns false if the message has none with this name. */
  delete(ref: MessageRef & { readonly name: string }): AnswerOf<boolean, GetMessageError>
}

/** Questions of agents to people. */
interface InputCalls {
  /** Lists the messages of a project that wait for an answer, the nearest deadline first. */
  list(input: ListInputsInput): Paged<Message, AccessRestricted | Refusal<'agent_not_found'>>
  /**
   * Answers a question of an agent. The next run of the message gets the answer. A repeated call with
   * the same value returns the message. Another answer is refused with `input_closed`.
   */
  answer(input: AnswerInputInput): AnswerOf<Message, AnswerInputError>
  /**
   * Withdraws a question. Its message fails with `INPUT_WITHDRAWN`. A repeated call has the same
   * result.
   */
  withdraw(
    ref: InputRef & ByActor,
  ): AnswerOf<Message, GetMessageError | Refusal<'input_not_found' | 'input_closed'>>
}

interface AgentCalls {
  /**
   * Creates an agent and starts it, unless `desiredState` is `stopped`. Resolves when the first
   * start has succeeded or failed, after 10 seconds at most. A slower start goes on.
   */
  create(input: CreateAgentInput): AnswerOf<CreatedAgent, CreateAgentError>
  /**
   * Changes the given fields. The runtime can change only while the agent is stopped. The agent
   * keeps its signing secret.
   */
  update(input: UpdateAgentInput): AnswerOf<CreatedAgent, UpdateAgentError>
  /**
   * Deletes the agent, its sessions and its messages. Returns `agent_busy` if messages are open,
   * unless `force` is true: then they are cancelled first, with their events. A forced deletion is
   * `agent_busy` only if messages arrive faster than they are cancelled.
   */
  delete(input: DeleteAgentInput): Answer<void, Refusal<'agent_not_found' | 'agent_busy'>>
  /** Starts the agent, now and after every start of a server. An agent in error is tried at once. */
  start(ref: AgentRef & ByActor): Answer<Agent, Refusal<'agent_not_found'>>
  /** Stops the agent. Its runs end normally, and queued messages wait for the next start. */
  stop(ref: AgentRef & ByActor): Answer<Agent, Refusal<'agent_not_found'>>
  /**
   * Creates and starts each agent once, and writes the settings that the code has changed since it
   * last set them. A running agent restarts with them when its runs have ended. An agent that a
   * person stopped or deleted stays so. A setting that a person changed stays too, and the telemetry
   * gets a warning if the code has changed since. Agents of earlier declarations run on, with a
   * warning.
   */
  declare(input: DeclareAgentsInput): AnswerOf<void, DeclareAgentsError>
  /** Returns the agent with its desired and its observed state. */
  get(ref: AgentRef & ByAccess): Answer<Agent, Refusal<'agent_not_found'>>
  /** Lists the agents of a project, newest first. */
  list(input: ListInput): Paged<Agent>
}

interface SessionCalls {
  /** Lists an agent's sessions, the one with the newest message first. */
  list(input: ListSessionsInput): Paged<SessionSummary, Refusal<'agent_not_found'>>
  /**
   * Erases a session with all its messages. Nothing finds them after the commit, and a later message
   * starts the session afresh. Returns `session_busy` if messages are open, unless `force` is true:
   * then they are cancelled first, with their events. A forced erasure is `session_busy` only if
   * messages arrive faster than they are cancelled.
   */
  erase(input: EraseSessionInput): AnswerOf<void, EraseSessionError>
}

interface WebhookCalls {
  /** Creates a webhook. The result has its secret, which is shown only once. */
  create(input: CreateWebhookInput): AnswerOf<CreatedWebhook, CreateWebhookError>
  /**
   * Changes the given fields. A URL on another origin keeps the custom headers only if the call
   * gives them again: a caller has not seen their values and could otherwise send them anywhere. The
   * change applies to the next event and the next attempt. Other processes learn of the change by the
   * work signal. Enabling sends the stored deliveries: one first, and the rest after that one is
   * accepted.
   */
  update(input: UpdateWebhookInput): Answer<Webhook, Invalid | Refusal<'webhook_not_found'>>
  /** Enables the webhook. */
  enable(ref: WebhookRef & ByActor): Answer<Webhook, Invalid | Refusal<'webhook_not_found'>>
  /** Disables the webhook. Its deliveries are stored, and sent after it is enabled. */
  disable(ref: WebhookRef & ByActor): Answer<Webhook, Invalid | Refusal<'webhook_not_found'>>
  /** Deletes the webhook and cancels its open deliveries. Its history stays. */
  delete(ref: WebhookRef & ByActor): Answer<void, Refusal<'webhook_not_found'>>
  /**
   * Rotates the secret, and shows the new one once. During the grace period, the header with the
   * prefix is signed with the old secret, and the Standard Webhooks header has both signatures. A
   * second rotation within the period drops the oldest secret.
   */
  rotateSecret(
    input: RotateSecretInput,
  ): Answer<CreatedWebhook, Invalid | Refusal<'webhook_not_found'>>
  /** Ends the grace period of a rotation now. */
  finishRotation(ref: WebhookRef & ByActor): Answer<Webhook, Refusal<'webhook_not_found'>>
  /** Returns the webhook with its last failure. */
  get(ref: WebhookRef): Answer<ReadWebhook, Refusal<'webhook_not_found'>>
  /** Lists webhooks with their last failures, newest first. */
  list(input: ListInput): Paged<ReadWebhook>
  /**
   * Sends a `webhook.test` event, or a sample of another event, to this webhook only, subscribed or
   * not. Its delivery is retried as any other. The ids in a sample belong to nothing.
   */
  sendTestEvent(
    input: TestEventInput,
  ): Answer<WebhookDelivery, Invalid | Refusal<'webhook_not_found' | 'webhook_disabled'>>
}

interface DeliveryCalls {
  /** Returns one delivery with its body, without a one-time link, and every attempt. */
  get(ref: DeliveryRef): Answer<DeliveryDetail, Refusal<'delivery_not_found'>>
  /** Says in a sentence why the receiver does not have a delivery. */
  story(ref: DeliveryRef): Answer<DeliveryStory, Refusal<'delivery_not_found'>>
  /** Lists deliveries, newest first. */
  list(input: ListDeliveriesInput): Paged<WebhookDelivery>
  /**
   * Sends the delivery again now. An open delivery gets one extra attempt and keeps its schedule. A
   * final one, or one that waits in an order, starts a new schedule out of order. A due delivery
   * stays as it is. Returns `delivery_busy` during an attempt. If the webhook's circuit is open, its
   * longest due delivery is sent first.
   */
  redeliver(
    ref: DeliveryRef & ByActor,
  ): Answer<WebhookDelivery, Refusal<'delivery_not_found' | 'delivery_busy' | 'webhook_not_found'>>
  /**
   * Cancels an open delivery. An attempt in flight, or one that another process has claimed, can
   * still arrive.
   */
  cancel(
    ref: DeliveryRef & ByActor,
  ): Answer<WebhookDelivery, Refusal<'delivery_not_found' | 'delivery_final'>>
  /** Cancels an open delivery because it blocks the other deliveries of its session. */
  skip(
    ref: DeliveryRef & ByActor,
  ): Answer<WebhookDelivery, Refusal<'delivery_not_found' | 'delivery_final'>>
}

interface RecoveryCalls {
  /**
   * Starts a task that redelivers all matching deliveries that exist now, newest first. The task
   * survives crashes. Each of its pages is done once, by any process.
   */
  start(
    input: StartRecoveryInput,
  ): Answer<Recovery, Invalid | Refusal<'webhook_not_found' | 'too_many_recoveries'>>
  /** Ends the search of a recovery, also of a paused one. Deliveries that it has made due stay due. */
  cancel(
    ref: RecoveryRef & ByActor,
  ): Answer<Recovery, Refusal<'recovery_not_found' | 'recovery_final'>>
  /** Continues a paused recovery. It does not try again first. */
  continue(
    ref: RecoveryRef & ByActor,
  ): Answer<Recovery, Refusal<'recovery_not_found' | 'recovery_not_paused'>>
  /** `tried`: the last attempt of the delivery that paused the recovery. */
  get(
    ref: RecoveryRef,
  ): Answer<
    Recovery & { readonly tried?: DeliveryAttempt | undefined },
    Refusal<'recovery_not_found'>
  >
  /** Lists recoveries, newest first. */
  list(input: ListInput): Paged<Recovery>
}

interface EventCalls {
  /**
   * Publishes an event of the host, with a delivery for each webhook that subscribes to its type.
   * Resolves when both are durable. The same `id` with the same content is published once, as long as
   * the event is stored, and at least 24 hours. With a `transaction`, the event exists when the host
   * commits.
   */
  publish(input: PublishInput): AnswerOf<PublishedEvent, PublishError>
  /** Publishes up to 100 events in one commit: all or none. */
  publishBatch(input: PublishBatchInput): AnswerOf<PublishedBatch, PublishError>
  /** Returns an event of the log, as webhooks get it, without the one-time link of a question. */
  get(ref: EventRef): Answer<StoredEvent, Refusal<'event_not_found'>>
  /** Says of each webhook why it does not have the event, with the deliveries of the event. */
  story(ref: EventStoryRef): Answer<EventStory, Refusal<'event_not_found'>>
  /**
   * Lists events without their bodies, newest first. A page that has read many events can have fewer
   * than its limit, and still a `nextCursor`. `lookedBackTo` says how far it looked.
   */
  list(input: ListEventsInput): Paged<ListedEvent>
  /**
   * Reads the project's events in the order of their log, after a cursor. A reader that continues
   * from `nextCursor` gets each event once. With `waitMs`, waits for the first event.
   */
  read(input: ReadEventsInput): AnswerOf<EventsOfLog, ReadEventsError>
  /**
   * Calls the handler for each event, one by one in the order of the log, at least once. The position
   * of a `name` is stored in groups, after the handler has resolved: 100 events or a second at most
   * come again after a crash. One process at a time holds a name, by a lease of `policy.runLeaseMs`.
   * If the handler throws, the event comes again after 1, 5 and 30 seconds and then each minute.
   * Works from `start` on, and in each `tick`. If events were purged before they came, continues with
   * the oldest event. Throws `invalid`, or `unavailable` after the stop.
   */
  on<N extends SubscribableEvent>(input: ListenInput<N>): Listening
}

/** The catalogue of events. Without `projectId`: the types of the installation. */
interface EventTypeCalls {
  /**
   * Stores a type in place of the earlier one with its name. Fails if the example does not match the
   * schema, and if the installation has the name of a project's type.
   */
  put(input: PutEventTypeInput): AnswerOf<EventType, PutEventTypeError>
  /** Deletes a type. Webhooks that subscribe to its name stay as they are. */
  delete(ref: EventTypeRef & ByActor): Answer<void, Refusal<'event_type_not_found'>>
  /** Returns a type of the service, of the installation or of the project. */
  get(ref: EventTypeRef): Answer<EventType, Refusal<'event_type_not_found'>>
  /** Lists all types, without their schemas and examples: those of the service, then by name. */
  list(input: EventTypeOwner): Answer<Page<ListedEventType>>
}

interface PrincipalCalls {
  /** Counts the rows that `erasePrincipal` would erase without `force`. */
  count(input: CountPrincipalInput): Answer<PrincipalTraces, Invalid>
  /**
   * Erases the messages on behalf of an end user, with answers, keys, the runtime's state of their
   * sessions, and the deliveries of their events with all attempts. Messages of other users in the
   * same sessions stay. Open messages stay unless `force` is true. Messages sent during the walk can
   * stay. A call does a bounded part, and writes one entry of the audit log if it erases a row. A
   * repeated call, from the cursor or from the beginning, does the rest.
   */
  erase(input: ErasePrincipalInput): Answer<PrincipalTraces, Invalid>
}

interface ProjectCalls {
  /**
   * Creates a project: the tenant that owns agents, webhooks and API keys. Returns the project that
   * has the `externalId` already, as it is.
   */
  create(input: CreateProjectInput): Answer<CreatedProject, Invalid>
  /** Changes the limits of a project's sends. */
  update(input: UpdateProjectInput): Answer<Project, Invalid | Refusal<'project_not_found'>>
  /** Returns the project with this id or external id, with its limits of sends. */
  get(ref: { readonly projectId: string }): Answer<Project, Refusal<'project_not_found'>>
  /** Lists all projects, oldest first. */
  list(input?: PageInput): Paged<Project>
  /**
   * Returns the open work and the usage of projects. Those with failing webhooks or held deliveries
   * come first, then the oldest ones.
   */
  overview(input?: PageInput): Paged<ProjectOverview>
}

interface KeyCalls {
  /** Creates an API key. The result has the key, which is shown only once. */
  create(input: CreateKeyInput): AnswerOf<CreatedKey, CreateKeyError>
  /**
   * Lists the keys of a project, newest first, also revoked and expired ones. A row never has the
   * key.
   */
  list(input: ListInput): Paged<ApiKey>
  /** Revokes a key for all new requests. A revoked key can be revoked again. */
  revoke(ref: KeyRef & ByActor): Answer<void, Refusal<'key_not_found'>>
}

/** Keys of platforms. Each acts on all projects, on one at a time. */
interface PlatformKeyCalls {
  /** Creates a platform key. The result has the key, which is shown only once. */
  create(input: CreatePlatformKeyInput): AnswerOf<CreatedPlatformKey, CreateKeyError>
  /** Lists the platform keys, newest first, also revoked and expired ones. */
  list(input?: PageInput): Paged<PlatformKey>
  /** Revokes a platform key for all new requests. A revoked key can be revoked again. */
  revoke(ref: Omit<KeyRef, 'projectId'> & ByActor): Answer<void, Refusal<'key_not_found'>>
}

/** Sessions of customers, and the links that open them. */
interface PortalCalls {
  /** Creates a session of a customer, and the code of the link that opens it. */
  create(input: CreatePortalInput): AnswerOf<CreatedPortal, CreatePortalError>
  /** Ends a session, or makes its unopened link unusable. A second call changes nothing. */
  end(ref: PortalRef & ByActor): Answer<void, Refusal<'portal_not_found'>>
}

/** The service of an endpoint, which must name the API key of each send: the key has a limit. */
export type EndpointService = Omit<MessagingService, 'messages'> & {
  readonly messages: Omit<MessageCalls, 'send'> & {
    readonly send: (
      input: SendInput & { readonly sentBy: SendingKey },
    ) => ReturnType<MessageCalls['send']>
  }
}
