import type { Platform } from '../platform.js'
import { createLoop } from '../pacing/loop.js'
import { reportUnavailable, valueOr } from '../pacing/report-unavailable.js'
import type { Recovery, RecoveryStep, RecoveryTask } from '../ports/recovery-store.js'
import type { DeliverySender } from './delivery-sender.js'
import { chain, type Chained } from '../pacing/chain.js'

/** Does the pages of running recoveries, and settles the others. Any number of processes can do so at the same time. */
export type RecoveryRunner = {
  /** True if an attempt that ends soon can be the one that a recovery tries first. */
  readonly isTrying: boolean
  wake(): void
  /** Calls `wake` with each agent whose messages were retried. */
  onRetried(wake: (agentId: string) => void): void
  /** Does the next page. Returns its recovery, or undefined if no page is left. */
  advance(): Chained<RecoveryTask | undefined>
  /** Does a few pages. */
  tick(): Promise<{ readonly isDone: boolean }>
  start(): void
  stop(): Promise<void>
}

/** Another process can have created a recovery, and died before its first page. */
const INTERVAL_MS = 5_000
/** For this time, the first attempt of a recovery is looked for more often. */
const TRY_MS = 60_000
const TRY_INTERVAL_MS = 250
/** Deliveries per commit. Other writes run between two commits. */
const PAGE = 200
const MOST_PAGES = 10
/** One per commit, because each one counts its deliveries. */
const MOST_SETTLED = 20

export function createRecoveryRunner(
  d: Pick<
    Platform,
    'storage' | 'clock' | 'ids' | 'telemetry' | 'policy' | 'publicUrl' | 'stopping'
  >,
  deliverySender: Pick<DeliverySender, 'wake'>,
): RecoveryRunner {
  let wakeAgent: (agentId: string) => void = () => undefined
  /** A recovery waits for its first attempt. Elapsed time. */
  let triesUntil = -Infinity
  const isTrying = () => d.clock.elapsed() < triesUntil
  const intervalMs = () => (isTrying() ? TRY_INTERVAL_MS : INTERVAL_MS)
  const loop = createLoop(d, 'recoveries', intervalMs, tick)

  const advance = (): Chained<RecoveryTask | undefined> =>
    chain(d.storage.recoveries.advance(stepOf(d))).map((recovery) => {
      const agentId = recovery?.filter.agentId
      if (agentId !== undefined) wakeAgent(agentId)
      else if (recovery) deliverySender.wake()
      if (recovery?.state.kind === 'trying') triesUntil = d.clock.elapsed() + TRY_MS
      return recovery
    })

  async function settle(): Promise<void> {
    const now = d.clock.now()
    const pausedBefore = Math.max(0, now - d.policy.retention.deliveriesMs)
    for (let n = 0; n < MOST_SETTLED; n++) {
      const settled = await d.storage.recoveries.settle({ limit: 1, now, pausedBefore })
      const [one] = valueOr(d, settled, [])
      if (!one) break
      report(one)
    }
  }

  function report({ id, projectId, filter: _, createdAt: __, state, ...counts }: Recovery): void {
    d.telemetry.record({
      name: 'recovery.finished',
      recoveryId: id,
      projectId,
      ...counts,
      state: state.kind,
    })
  }

  async function tick(): Promise<{ isDone: boolean }> {
    for (let pages = 0; pages < MOST_PAGES && !d.stopping.aborted; pages++) {
      const advanced = await advance()
      if (advanced.isErr()) reportUnavailable(d, advanced.error)
      else if (advanced.value) continue
      else await settle()
      return { isDone: true }
    }
    // A stopping service would look again without end.
    if (d.stopping.aborted) return { isDone: true }
    await settle()
    loop.wake()
    return { isDone: false }
  }

  const onRetried = (wake: (agentId: string) => void): void => void (wakeAgent = wake)

  return {
    get isTrying() {
      return isTrying()
    },
    wake: loop.wake,
    onRetried,
    advance,
    tick,
    start: loop.start,
    stop: loop.stop,
  }
}

function stepOf({
  clock,
  ids,
  publicUrl,
}: Pick<Platform, 'clock' | 'ids' | 'publicUrl'>): RecoveryStep {
  const serviceUrl = publicUrl?.()
  return {
    limit: PAGE,
    now: clock.now(),
    nextDeliveryId: () => ids.next(),
    serviceUrl,
  }
}
