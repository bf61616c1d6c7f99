import { describe, expect, test, vi } from 'vitest'
import type { WaitingWork, WorkSignal } from '@org/agent-messaging-core/storage'

export type WorkSignalsUnderTest = {
  /**
   * Of two processes on one storage. They can be the same where nothing is between the
   * processes.
   */
  readonly from: WorkSignal
  readonly to: WorkSignal
  close(): Promise<void>
}

const DELIVERIES: WaitingWork = { kind: 'deliveries' }
const AGENTS = 500
const PATIENCE = { timeout: 60_000, interval: 50 }

/**
 * Registers the contract of a work signal as vitest tests. Call it at the top of a test file.
 */
export function describeWorkSignalContract(
  name: string,
  open: () => Promise<WorkSignalsUnderTest>,
): void {
  const it = test.extend<{ signals: WorkSignalsUnderTest }>({
    // oxlint-disable-next-line no-empty-pattern -- vitest reads a fixture's needs from this pattern
    signals: async ({}, use) => {
      const signals = await open()
      await heard(signals, DELIVERIES)
      await use(signals)
      await signals.close()
    },
  })

  describe(`${name} keeps the contract of a signal for waiting work`, () => {
    it('tells another process of each kind of work', async ({ signals }) => {
      await heard(signals, { kind: 'messages', agentId: agentId(1) })
      await heard(signals, { kind: 'events', projectId: agentId(2) })
      await heard(signals, { kind: 'webhook', projectId: agentId(3), webhookId: agentId(4) })
    })

    it('tells of all that waits at once', async ({ signals: { from, to } }) => {
      const works = Array.from({ length: AGENTS }, (_, n): WaitingWork[] => [
        { kind: 'messages', agentId: agentId(n) },
        { kind: 'webhook', projectId: agentId(n), webhookId: agentId(n) },
      ]).flat()
      const told: WaitingWork[] = []
      const stop = to.onAnnounced((work) => void told.push(work))
      for (const work of [...works, DELIVERIES]) from.announce(work)
      await vi.waitFor(
        () => expect(told).toEqual(expect.arrayContaining([...works, DELIVERIES])),
        PATIENCE,
      )
      stop()
    })

    it('tells every listener, and no former one', async ({ signals: { from, to } }) => {
      const [gone, one, other] = [vi.fn<() => void>(), vi.fn<() => void>(), vi.fn<() => void>()]
      to.onAnnounced(gone)()
      const stops = [one, other].map((hear) => to.onAnnounced(hear))
      from.announce(DELIVERIES)
      await vi.waitFor(
        () =>
          expect([one.mock.calls.length > 0, other.mock.calls.length > 0]).toEqual([true, true]),
        PATIENCE,
      )
      expect(gone).not.toHaveBeenCalled()
      for (const stop of stops) stop()
    })

    it('carries the same again', async ({ signals }) => {
      await heard(signals, DELIVERIES)
      await heard(signals, DELIVERIES)
    })
  })
}

/**
 * An announcement can get lost while a connection is made: says it again until it was heard, as no
 * worker has to.
 */
async function heard({ from, to }: WorkSignalsUnderTest, work: WaitingWork): Promise<void> {
  const hear = vi.fn<(work: WaitingWork) => void>()
  const stop = to.onAnnounced(hear)
  const sayAgain = (): void => {
    from.announce(work)
    expect(hear).toHaveBeenCalledWith(work)
  }
  await vi.waitFor(sayAgain, PATIENCE)
  stop()
}

const agentId = (n: number): string => `0197b3a0-0000-7000-8000-${String(n).padStart(12, '0')}`
