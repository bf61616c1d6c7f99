import { createHmac } from 'node:crypto'
import { createService, type MessagingService, type Policy } from '@org/agent-messaging-core'
import {
  type ResponseSignal,
  type Storage,
  type WorkSignal,
} from '@org/agent-messaging-core/storage'
import { type Clock, type Ids, type WebhookSender } from '@org/agent-messaging-core/runtime'
import { fakeCrypto } from '@org/agent-messaging-core/testing'
import type { Agents } from './agents.js'
import type { Faults } from './faults.js'
import { storageOf, type Witness } from './storage.js'
import type { Weather } from './weather.js'
import type { Owner, World } from './world.js'

/** What all processes have around them. */
export type Surroundings = {
  readonly world: World
  readonly weather: Weather
  readonly faults: Faults
  readonly storage: Storage
  /** What the core has in the place of the storage that it is given. */
  readonly alter: (storage: Storage) => Storage
  readonly witness: Witness
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
   * Asks it for something, as a client does. Undefined when there is no answer: it was dead when the request came, or died before
   * it could answer; what it did until then is done.
   */
  ask<T>(request: (service: MessagingService) => PromiseLike<T>): Promise<T | undefined>
  /** `kill -9`: whatever it had in mind is forgotten, and its objects with it. */
  crash(): void
  /** SIGSTOP, and SIGCONT after so long. */
  freeze(ms: number): void
}

/** A process that a client finds; none if all are dead. */
export type Somebody = () => Process | undefined

const REQUEST_MS = 5

export function startProcess(around: Surroundings, name: string): Process {
  const { world } = around
  const owner: Owner = { isAlive: true, stoppedUntil: 0 }
  const disappointed = new Set<() => void>()
  const service = createService({
    storage: around.alter(storageOf({ ...around, name, owner })),
    signal: around.signalOf(owner),
    workSignal: around.workSignalOf(owner),
    sender: around.senderOf(owner),
    runtimes: [around.agents.runtimeOf(owner, name)],
    clock: clockOf(world, owner),
    random: { next: () => world.dice.below(2 ** 20) / 2 ** 20 },
    ids: around.ids,
    crypto: {
      ...fakeCrypto(),
      hmacSha256: (key, data, encoding) => createHmac('sha256', key).update(data).digest(encoding),
    },
    telemetry: {
      record: ({ name: fact, ...details }) =>
        world.note(`${name} tells of ${fact} ${JSON.stringify(details)}`),
    },
    policy: around.policy,
  })
  world.note(`${name} starts`)
  void service.start()

  return {
    name,
    service,
    get isAlive() {
      return owner.isAlive
    },
    ask: (request) => {
      if (!owner.isAlive) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        const giveUp = (): void => resolve(undefined)
        const answer = async (): Promise<void> => {
          resolve(await request(service))
          disappointed.delete(giveUp)
        }
        disappointed.add(giveUp)
        world.after(world.dice.below(REQUEST_MS), () => void answer(), owner)
      })
    },
    crash: () => {
      owner.isAlive = false
      world.note(`${name} crashes`)
      for (const giveUp of disappointed) giveUp()
    },
    freeze: (ms) => {
      owner.stoppedUntil = world.elapsed + ms
      world.note(`${name} is frozen for ${ms} ms`)
    },
  }
}

const clockOf = (world: World, owner: Owner): Clock => ({
  now: world.now,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const callOff = world.after(ms, wake, owner)
      function wake(): void {
        callOff()
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      signal?.addEventListener('abort', wake)
    }),
})
