import { createAgents } from './agents/agents.js'
import { createFolding } from './maintenance/folding.js'
import { createMaintenance } from './maintenance/maintenance.js'
import { masterKeyCheck } from './maintenance/master-key.js'
import { localSignal } from './messages/local-signal.js'
import type { Load, RuntimeKind } from './host-calls.js'
import type { MessagingService } from './messaging-service.js'
import { createMessages, type Messages } from './messages/messages.js'
import { createOperations } from './operations/operations.js'
import { eventNews } from './pacing/event-news.js'
import { retryUntilStored } from './pacing/retry-until-stored.js'
import { noTracing } from './pacing/no-tracing.js'
import { readsByCode, sharedReads } from './pacing/shared-reads.js'
import { JumpFollower, SteadyClock } from './pacing/steady-clock.js'
import type { Platform } from './platform.js'
import { policyOf, type PolicyInput } from './policy.js'
import type { AgentRuntime } from './ports/agent-runtime.js'
import type { AttemptMaker } from './ports/attempt-maker.js'
import type { LeaseKeeper } from './ports/lease-keeper.js'
import type { Clock, Crypto, Ids, Random } from './ports/platform.js'
import type { ChunkRelay } from './ports/chunk-relay.js'
import type { ResponseSignal } from './ports/response-signal.js'
import type { Storage } from './ports/storage.js'
import type { Telemetry } from './ports/telemetry.js'
import type { Tracing } from './ports/tracing.js'
import type { WebhookSender } from './ports/webhook-sender.js'
import type { WorkSignal } from './ports/work-signal.js'
import { attemptMaker } from './webhooks/attempt-maker.js'
import { throwing, valueOf } from './throwing.js'
import type { SubscribableEvent } from './domain/webhooks/event.js'
import type { ListenInput } from './webhooks/event-listener.js'
import { createWebhooks, type Webhooks } from './webhooks/webhooks.js'

export type ServiceOptions = {
  readonly storage: Storage
  readonly sender: WebhookSender
  readonly runtimes: readonly AgentRuntime[]
  /** The next four come from `nodePlatform` in `./node`, or from `fakePlatform`. */
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  readonly crypto: Crypto
  /** Signs and sends webhook requests. Default: in this thread, through `sender`. */
  readonly attempts?: AttemptMaker
  /** Wakes waiting callers. Default: only in this process. */
  readonly signal?: ResponseSignal
  /** Announces work to other processes. Without it, they find the work at their next poll. */
  readonly workSignal?: WorkSignal
  /** Carries streams to readers at other processes. Without it, they get the states alone. */
  readonly relay?: ChunkRelay
  /**
   * Extends leases from a thread. Without it, a run that blocks the event loop for longer than its
   * lease can run twice.
   */
  readonly leaseKeeper?: LeaseKeeper
  /** Default: records nothing. That of `nodePlatform` writes failures to stderr. */
  readonly telemetry?: Telemetry
  /** Default: makes no spans, and passes traces of clients on. */
  readonly tracing?: Tracing
  readonly policy?: PolicyInput
  /** The address of the service, for one-time links and thin bodies. Absent: events have no links. */
  readonly publicUrl?: () => string | undefined
}

/**
 * After the grace period, a stop spends this long on storing the outcomes of runs, aborted ones
 * too.
 */
const LAST_TRIES_MS = 2_000

/**
 * Composes the service from the given ports. Nothing runs before `start` or `tick`. Both, and
 * the calls that encrypt a secret, reject with a `MasterKeyError` if the storage belongs to another
 * master key.
 * Throws a `TypeError` or a `RangeError` if the policy has a wrong setting, or allows no delivery.
 */
export function createService(options: ServiceOptions): MessagingService {
  const stopping = new AbortController()
  const stopDeadline = new AbortController()
  const clock = new SteadyClock(options.clock, (jump) => follower.follow(jump))
  const signals = { stopping: stopping.signal, stopDeadline: stopDeadline.signal }
  const platform = platformOf({ ...options, clock }, signals)
  const follower = new JumpFollower(platform)
  const folding = createFolding(platform)
  const maintenance = createMaintenance(platform, folding)
  const webhooks = createWebhooks(platform, maintenance)
  const messages = createMessages(platform, webhooks)
  const agents = createAgents(platform, maintenance, messages, webhooks)
  const { deliverySender, eventListeners, recoveryRunner } = webhooks
  const { answerStreams, dispatcher, earlierReads, inputDeadlines, waitingRoom } = messages

  const { supervisor } = agents
  const operations = createOperations({
    ...platform,
    maintenance,
    deliverySender,
    eventListeners,
    recoveryRunner,
    dispatcher,
    earlierReads,
    inputDeadlines,
    waitingRoom,
    supervisor,
  })
  return throwing({
    ...operations,
    messages: messages.messages,
    hooks: messages.hooks,
    inputs: messages.inputs,
    agents: agents.agents,
    sessions: agents.sessions,
    webhooks: webhooks.webhooks,
    deliveries: webhooks.deliveries,
    recoveries: webhooks.recoveries,
    events: eventCalls(webhooks, messages),
    eventTypes: webhooks.eventTypes,
    policy: platform.policy,
    host: {
      ...operations.host,
      ...messages.host,
      ...webhooks.host,
      ...processCalls(platform, messages, webhooks),
    },
    async start() {
      if (!(await isReady(platform, follower))) return
      for (const worker of [deliverySender, dispatcher, inputDeadlines]) worker.start()
      for (const worker of [maintenance, folding, recoveryRunner]) worker.start()
      await supervisor.tick()
      supervisor.start()
      eventListeners.start()
    },
    async stop({ graceMs = 10_000 } = {}) {
      const end = clock.elapsed() + graceMs
      const stopped = new AbortController()
      const lastTries = clock.sleep(graceMs + LAST_TRIES_MS, stopped.signal)
      void lastTries.then(() => stopDeadline.abort('stopped'))
      stopping.abort('stopping')
      waitingRoom.close()
      answerStreams.close()
      webhooks.eventReaders.close()
      const othersStopped = Promise.all(
        [recoveryRunner, inputDeadlines, folding].map((worker) => worker.stop()),
      )
      const listenersStopped = eventListeners.stop(graceMs)
      await maintenance.stop()
      await dispatcher.stop(graceMs)
      answerStreams.leaveRelay()
      await supervisor.stop()
      await deliverySender.stop(Math.max(0, end - clock.elapsed()))
      await Promise.all([othersStopped, listenersStopped])
      stopped.abort('stopped')
    },
  })
}

const eventCalls = (webhooks: Webhooks, messages: Messages) => ({
  ...webhooks.events,
  ...messages.events,
  on: <N extends SubscribableEvent>(input: ListenInput<N>) => valueOf(webhooks.events.on(input)),
})

/** Waits for the storage. Returns false if the service stops first. */
async function isReady(platform: Platform, follower: JumpFollower): Promise<boolean> {
  const checked = await retryUntilStored(platform, platform.checkMasterKey)
  if (checked.ok) await follower.followSinceLastWrite()
  return checked.ok
}

const runtimeKindOf = (runtime: AgentRuntime): RuntimeKind => ({
  kind: runtime.kind,
  ...(runtime.accepts && { accepts: (part, options) => runtime.accepts?.(part, options) }),
  ...(runtime.optionsSchema && { optionsSchema: () => runtime.optionsSchema?.() ?? {} }),
})

/** What a server asks about this process. */
const processCalls = (
  { runtimes, clock }: Pick<Platform, 'runtimes' | 'clock'>,
  messages: Messages,
  webhooks: Webhooks,
) => ({
  runtimeKinds: () => [...runtimes.values()].map(runtimeKindOf),
  load: () => loadOf(messages, webhooks),
  now: () => clock.now(),
})

const loadOf = (
  { waitingRoom, dispatcher }: Pick<Messages, 'waitingRoom' | 'dispatcher'>,
  { deliverySender, eventReaders }: Pick<Webhooks, 'deliverySender' | 'eventReaders'>,
): Load => ({
  waitingCallers: waitingRoom.size,
  waitingReaders: eventReaders.size,
  runs: dispatcher.running,
  attempts: deliverySender.inFlight,
  limits: deliverySender.receivers.reasons,
})

function platformOf(
  options: ServiceOptions,
  signals: Pick<Platform, 'stopping' | 'stopDeadline'>,
): Platform {
  const policy = policyOf(options.policy)
  const workSignal = options.workSignal ?? {
    announce: () => undefined,
    onAnnounced: () => () => undefined,
  }
  return {
    ...options,
    attempts: options.attempts ?? attemptMaker({ ...options, policy }),
    runtimes: new Map(options.runtimes.map((runtime) => [runtime.kind, runtime])),
    signal: options.signal ?? localSignal(),
    workSignal,
    eventNews: eventNews(workSignal),
    leaseKeeper: options.leaseKeeper ?? { hold: () => undefined, release: () => undefined },
    telemetry: options.telemetry ?? { record: () => undefined },
    tracing: options.tracing ?? noTracing(options.crypto.randomBytes),
    policy,
    checkMasterKey: masterKeyCheck(options.storage, options.crypto),
    shared: sharedReads(options.clock),
    byCode: readsByCode(options.clock),
    ...signals,
  }
}
