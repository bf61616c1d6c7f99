import { defaultRetryPolicy } from './domain/delivery.js'
import { defaultLimits } from './domain/limits.js'
import { defaultDispatchPolicy } from './domain/message.js'
import { defaultWebhookHealthPolicy } from './domain/webhook-health.js'
import type { AgentRuntime } from './ports/agent-runtime.js'
import type { AttemptMaker } from './ports/attempt-maker.js'
import type { Pacemaker } from './ports/pacemaker.js'
import type { Clock, Crypto, Ids, Random } from './ports/platform.js'
import type { ResponseSignal } from './ports/response-signal.js'
import type { Storage } from './ports/storage.js'
import type { Telemetry } from './ports/telemetry.js'
import type { WebhookSender } from './ports/webhook-sender.js'
import type { WorkSignal } from './ports/work-signal.js'
import { answerRun, isRunToken } from './use-cases/answer-run.js'
import { cancelMessage, retryMessage } from './use-cases/change-messages.js'
import { createAgent } from './use-cases/create-agent.js'
import type { Deps, Platform, Policy } from './use-cases/deps.js'
import {
  deleteAgent,
  getAgent,
  listAgents,
  startAgent,
  stopAgent,
  updateAgent,
} from './use-cases/manage-agents.js'
import {
  authenticate,
  createKey,
  createProject,
  endSignIn,
  isSignInOver,
  listKeys,
  listProjects,
  revokeKey,
} from './use-cases/manage-credentials.js'
import {
  cancelDelivery,
  getDelivery,
  listDeliveries,
  recoverDeliveries,
  redeliver,
} from './use-cases/manage-deliveries.js'
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  finishRotation,
  getWebhook,
  listWebhooks,
  rotateSecret,
  sendTestEvent,
  updateWebhook,
} from './use-cases/manage-webhooks.js'
import { countPrincipal, erasePrincipal } from './use-cases/erase-principal.js'
import { eraseSession, listSessions } from './use-cases/manage-sessions.js'
import { resealSecrets } from './use-cases/reseal-secrets.js'
import { pingStorage } from './use-cases/ping-storage.js'
import { getMessage, listMessages } from './use-cases/read-messages.js'
import { readActivity } from './use-cases/read-activity.js'
import { readBacklog } from './use-cases/read-backlog.js'
import { enqueueMessage, sendMessage } from './use-cases/send-message.js'
import { streamMessage } from './use-cases/stream-message.js'
import { createAnswerStreams } from './workers/answer-streams.js'
import { attemptMaker } from './workers/attempt-maker.js'
import { createDeliveryWorker } from './workers/delivery-worker.js'
import { createDispatcher } from './workers/dispatcher.js'
import { localSignal } from './workers/local-signal.js'
import { createMaintenance } from './workers/maintenance.js'
import { runPass } from './workers/pass.js'
import { createSupervisor } from './workers/supervisor.js'
import { createWaitingRoom } from './workers/waiting-room.js'

export type ServiceOptions = {
  readonly storage: Storage
  readonly sender: WebhookSender
  readonly runtimes: readonly AgentRuntime[]
  /** These four come from `nodePlatform` in `./node`, or from `./testing`. */
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  readonly crypto: Crypto
  /** Signs and sends webhook requests. Absent: done here, through `sender`; an adapter may have another thread do it. */
  readonly attempts?: AttemptMaker
  /** Wakes callers in this process when absent. */
  readonly signal?: ResponseSignal
  /** Without one, work that another process is to take is found by its next poll. */
  readonly workSignal?: WorkSignal
  /** Without one, leases are extended by the dispatcher's loop alone: a run that blocks it for longer than its lease may run twice. */
  readonly pacemaker?: Pacemaker
  /** Records nothing when absent. */
  readonly telemetry?: Telemetry
  readonly policy?: Partial<Policy>
}

/** The service, ready to be embedded or put behind HTTP. Every call gives a neverthrow Result with a closed union of errors. */
export type MessagingService = ReturnType<typeof createService>

const DAY_MS = 86_400_000

export const defaultPolicy: Policy = {
  limits: defaultLimits,
  syncWaitMs: 30_000,
  pollMs: 500,
  maxWaitingPerProject: 5_000,
  onKeyMismatch: 'reuse',
  stream: { bufferLength: 64 * 1024, maxPerProject: 1_000, heartbeatMs: 15_000, stalledMs: 60_000 },
  dispatch: defaultDispatchPolicy,
  runLeaseMs: 30_000,
  agentHealth: { intervalMs: 30_000, recheckMs: 2_000, timeoutMs: 5_000, strikes: 3 },
  retry: defaultRetryPolicy,
  webhookHealth: defaultWebhookHealthPolicy,
  deliver: {
    deadlineMs: 15_000,
    leaseMs: 30_000,
    maxInFlight: 64,
    maxInFlightPerWebhook: 8,
    prefetch: 512,
  },
  retention: { deliveriesMs: 30 * DAY_MS, messagesMs: Infinity },
  disabledBacklog: { max: 10_000, maxAgeMs: 7 * DAY_MS },
  headerPrefix: 'X-Service',
}

/** After its grace a stop goes on for so long with recording what runs came to, aborted ones too. */
const LAST_TRIES_MS = 2_000

/**
 * Puts the use cases and the workers together over the given ports. Nothing runs before `start` or `tick`. Throws a `RangeError` for a
 * policy under which nothing would be delivered.
 */
export function createService(options: ServiceOptions) {
  const over = new AbortController()
  const d = assemble(options, over.signal)
  return {
    messages: {
      send: sendMessage(d),
      enqueue: enqueueMessage(d),
      get: getMessage(d),
      list: listMessages(d),
      stream: streamMessage(d),
      cancel: cancelMessage(d),
      retry: retryMessage(d),
      answer: answerRun(d),
      isRunToken: isRunToken(d),
    },
    sessions: { list: listSessions(d), erase: eraseSession(d) },
    principals: { count: countPrincipal(d), erase: erasePrincipal(d) },
    agents: {
      create: createAgent(d),
      get: getAgent(d),
      list: listAgents(d),
      update: updateAgent(d),
      delete: deleteAgent(d),
      start: startAgent(d),
      stop: stopAgent(d),
    },
    webhooks: {
      create: createWebhook(d),
      get: getWebhook(d),
      list: listWebhooks(d),
      update: updateWebhook(d),
      enable: enableWebhook(d),
      disable: disableWebhook(d),
      delete: deleteWebhook(d),
      rotateSecret: rotateSecret(d),
      finishRotation: finishRotation(d),
      sendTestEvent: sendTestEvent(d),
    },
    deliveries: {
      get: getDelivery(d),
      list: listDeliveries(d),
      redeliver: redeliver(d),
      cancel: cancelDelivery(d),
      recover: recoverDeliveries(d),
    },
    projects: { create: createProject(d), list: listProjects(d) },
    keys: {
      create: createKey(d),
      list: listKeys(d),
      revoke: revokeKey(d),
      authenticate: authenticate(d),
    },
    secrets: { reseal: resealSecrets(d) },
    signIns: { end: endSignIn(d), isOver: isSignInOver(d) },
    policy: d.policy,
    ping: pingStorage(d),
    backlog: readBacklog(d),
    activity: readActivity(d),
    /** What this process has in hand: callers that wait, runs and attempts under way. */
    load: () => ({
      waitingCallers: d.waitingRoom.size,
      runs: d.dispatcher.running,
      attempts: d.deliveryWorker.inFlight,
    }),
    /** The time that everything here is judged by. */
    now: () => d.clock.now(),
    /** Starts the workers; resolves when the agents that should run have been looked at once. What was stopped stays stopped. */
    async start(): Promise<void> {
      d.deliveryWorker.start()
      d.dispatcher.start()
      d.maintenance.start()
      await d.supervisor.tick()
      d.supervisor.start()
    },
    /** One bounded pass of everything due, for hosts without timers of their own and for the cron route. */
    tick: runPass(d),
    /**
     * Drains: waiting callers are answered as they stand, streams end, nothing new begins, and what is under way gets `graceMs`; then
     * runs are aborted and handed back for another process or the next start. The storage stays open: it is the caller's.
     * When it is away the results in hand get a few tries more, and are then given up.
     */
    async stop({ graceMs = 10_000 }: { readonly graceMs?: number } = {}): Promise<void> {
      const end = d.clock.now() + graceMs
      const stopped = new AbortController()
      void d.clock.sleep(graceMs + LAST_TRIES_MS, stopped.signal).then(() => over.abort('over'))
      d.waitingRoom.close()
      d.answerStreams.close()
      await d.maintenance.stop()
      await d.dispatcher.stop(graceMs)
      await d.supervisor.stop()
      await d.deliveryWorker.stop(Math.max(0, end - d.clock.now()))
      stopped.abort('stopped')
    },
  }
}

function assemble(options: ServiceOptions, over: AbortSignal): Deps {
  const policy = { ...defaultPolicy, ...options.policy }
  requireFittingLease(policy)
  const platform: Platform = {
    ...options,
    attempts: options.attempts ?? attemptMaker({ ...options, policy }),
    runtimes: new Map(options.runtimes.map((runtime) => [runtime.kind, runtime])),
    signal: options.signal ?? localSignal(),
    workSignal: options.workSignal ?? {
      announce: () => undefined,
      onAnnounced: () => () => undefined,
    },
    pacemaker: options.pacemaker ?? { hold: () => undefined, release: () => undefined },
    telemetry: options.telemetry ?? { record: () => undefined },
    policy,
    over,
  }
  const deliveryWorker = createDeliveryWorker(platform)
  const answerStreams = createAnswerStreams(platform)
  const dispatcher = createDispatcher({ ...platform, deliveryWorker, answerStreams })
  const supervisor = createSupervisor({ ...platform, deliveryWorker, dispatcher })
  return {
    ...platform,
    ...{ deliveryWorker, dispatcher, supervisor, answerStreams },
    ...{ maintenance: createMaintenance(platform), waitingRoom: createWaitingRoom(platform) },
  }
}

/** An attempt is begun only if its lease covers the whole of it. */
function requireFittingLease({ deliver: { leaseMs, deadlineMs } }: Policy): void {
  if (leaseMs <= deadlineMs)
    throw new RangeError(
      `policy.deliver.leaseMs is ${leaseMs}; it takes more than deadlineMs, which is ${deadlineMs}`,
    )
}
