import type { Platform } from '../platform.js'
import type { WaitingWork } from '../ports/work-signal.js'
import { createLoop, type Loop } from './loop.js'

/** `stopped`: not started, so only passes do work. `draining`: stopped for good. */
export type WorkPhase = 'stopped' | 'running' | 'draining'

type Work = {
  readonly name: string
  readonly tick: () => Promise<unknown>
  /** Called while the loop runs, when another process announces work. */
  readonly onAnnounced: (work: WaitingWork) => void
}

/** The loop of a worker whose work other processes can announce. */
export class WorkLoop {
  readonly #workSignal: Platform['workSignal']
  readonly #onAnnounced: Work['onAnnounced']
  readonly #loop: Loop
  #phase: WorkPhase = 'stopped'
  #stopListening = (): void => undefined

  constructor(
    d: Pick<Platform, 'clock' | 'policy' | 'telemetry' | 'workSignal'>,
    { name, tick, onAnnounced }: Work,
  ) {
    this.#workSignal = d.workSignal
    this.#onAnnounced = onAnnounced
    this.#loop = createLoop(d, name, d.policy.pollMs, tick)
  }

  get phase(): WorkPhase {
    return this.#phase
  }

  start(): void {
    if (this.#phase !== 'stopped') return
    this.#phase = 'running'
    this.#stopListening = this.#workSignal.onAnnounced(this.#onAnnounced)
    this.#loop.start()
  }

  /** Starts a tick soon. */
  wake(): void {
    this.#loop.wake()
  }

  /** Drains: starts no more ticks. Resolves when the running one has ended. */
  stop(): Promise<void> {
    this.#phase = 'draining'
    this.#stopListening()
    return this.#loop.stop()
  }
}
