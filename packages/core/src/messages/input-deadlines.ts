import { decideDueInput, isAsking, openInput } from '../domain/messages/input-decisions.js'
import type { Message } from '../domain/messages/message.js'
import { createLoop, type Loop } from '../pacing/loop.js'
import { reportUnavailable } from '../pacing/report-unavailable.js'
import type { CancelContext } from './change-messages.js'
import { changeInput } from './inputs.js'

const INTERVAL_MS = 2_000
/** Messages per step. */
const STEP = 50
const MOST_STEPS = 20

/** Reminds of open questions, and ends them at their deadlines. */
export class InputDeadlines {
  readonly start: Loop['start']
  readonly stop: Loop['stop']
  readonly #context: CancelContext

  constructor(context: CancelContext) {
    this.#context = context
    const loop = createLoop(context, 'input deadlines', INTERVAL_MS, () => this.tick())
    this.start = loop.start
    this.stop = loop.stop
  }

  /**
   * Handles the questions whose due time has come. Any number of processes can call this at once.
   */
  async tick(): Promise<void> {
    const { clock, storage } = this.#context
    for (let step = 0; step < MOST_STEPS; step++) {
      const due = await storage.messages.dueInputs({ now: clock.now(), limit: STEP })
      if (!due.ok) return reportUnavailable(this.#context, due.error)
      const handled = await Promise.all(due.value.map((message) => this.#handle(message)))
      if (due.value.length < STEP || !handled.every(Boolean)) return
    }
  }

  async #handle(message: Message): Promise<boolean> {
    const now = this.#context.clock.now()
    const input = openInput(message)
    if (!input || !isAsking(message)) return false
    const decided = decideDueInput(message, now)
    const { dueAt } = message.state
    const to = decided.state.kind === 'input_required' ? 'reminded' : 'expired'
    const changed = await changeInput(this.#context, {
      ...decided,
      message,
      inputId: input.id,
      dueAt,
      to,
    })
    return changed.isOk()
  }
}
