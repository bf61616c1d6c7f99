import { createHmac } from 'node:crypto'
import {
  createService,
  type MessagingService,
  type Policy,
  type ServiceError,
} from '@org/agent-messaging-core'
import type { Clock, Ids, WebhookSender } from '@org/agent-messaging-core/runtime'
import { errorIn } from '@org/agent-messaging-core/host'
import type { ResponseSignal, Storage, WorkSignal } from '@org/agent-messaging-core/storage'
import { err, ok, type Result } from 'neverthrow'
import { fakeCrypto } from '@org/agent-messaging-testing'
import type { Agents } from './agents.js'
import type { FaultLog } from './fault-log.js'
import { storageOf, type StoreObserver } from './storage.js'
import type { FailureRates } from './failure-rates.js'
import type { Owner, Timeline } from './timeline.js'

/** The ports of all processes. */
export type Environment = {
  readonly timeline: Timeline
  readonly rates: FailureRates
  readonly faults: FaultLog
  readonly storage: Storage
  /** Wraps the storage that the core gets. */
  readonly wrapForCore: (storage: Storage) => Storage
  readonly observe: StoreObserver
  readonly senderOf: (owner: Owner) => WebhookSender
  readonly agents: Agents
  readonly signalOf: (owner: Owner) => ResponseSignal
  readonly workSignalOf: (owner: Owner) => WorkSignal
  readonly ids: Ids
  readonly policy: Partial<Policy>
}

/** The real service over simulated ports. */
export type Process = {
  readonly name: string
  readonly service: MessagingService
  readonly isAlive: boolean
  /**
   * Sends a request to the service. Returns undefined if the process is dead or dies before the
   * answer. Effects before its death stay.
   */
  ask<T>(request: Request<T>): Promise<Answered<T> | undefined>
  /** Acts like `kill -9`: all state in memory is lost. */
  crash(): void
  /** Acts like SIGSTOP, and SIGCONT after `ms`. */
  freeze(ms: number): void
}

export type Request<T> = (service: MessagingService) => Promise<T>
export type Answered<T> = Result<T, ServiceError>

/** Returns a random living process, or undefined if all are dead. */
export type AnyProcess = () => Process | undefined

const REQUEST_MS = 5

export function startProcess(environment: Environment, name: string): Process {
  const { timeline } = environment
  const owner: Owner = { isAlive: true, stoppedUntil: 0 }
  const waitingClients = new Set<() => void>()
  const service = createService({
    storage: environment.wrapForCore(storageOf({ ...environment, name, owner })),
    signal: environment.signalOf(owner),
    workSignal: environment.workSignalOf(owner),
    sender: environment.senderOf(owner),
    runtimes: [environment.agents.runtimeOf(owner, name)],
    clock: clockOf(timeline, owner),
    random: { next: () => timeline.dice.below(2 ** 20) / 2 ** 20 },
    ids: environment.ids,
    crypto: {
      ...fakeCrypto(),
      hmacSha256: (key, data, encoding) => createHmac('sha256', key).update(data).digest(encoding),
    },
    telemetry: {
      record: ({ name: fact, ...details }) =>
        timeline.note(`${name} reports ${fact} ${JSON.stringify(details)}`),
    },
    policy: environment.policy,
  })
  timeline.note(`${name} starts`)
  void service.start()

  return {
    name,
    service,
    get isAlive() {
      return owner.isAlive
    },
    ask: <T>(request: Request<T>) => {
      if (!owner.isAlive) return Promise.resolve(undefined)
      return new Promise<Answered<T> | undefined>((resolve) => {
        const endUnanswered = (): void => resolve(undefined)
        const answer = async (): Promise<void> => {
          const answered = request(service).then(
            (value) => ok<T, ServiceError>(value),
            (thrown) => err<T, ServiceError>(errorIn(thrown)),
          )
          resolve(await answered)
          waitingClients.delete(endUnanswered)
        }
        waitingClients.add(endUnanswered)
        timeline.after(timeline.dice.below(REQUEST_MS), () => void answer(), owner)
      })
    },
    crash: () => {
      owner.isAlive = false
      timeline.note(`${name} crashes`)
      for (const endUnanswered of waitingClients) endUnanswered()
    },
    freeze: (ms) => {
      owner.stoppedUntil = timeline.elapsed + ms
      timeline.note(`${name} is frozen for ${ms} ms`)
    },
  }
}

const clockOf = (timeline: Timeline, owner: Owner): Clock => ({
  now: timeline.now,
  elapsed: () => timeline.elapsed,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const cancel = timeline.after(ms, wake, owner)
      function wake(): void {
        cancel()
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      signal?.addEventListener('abort', wake)
    }),
})
