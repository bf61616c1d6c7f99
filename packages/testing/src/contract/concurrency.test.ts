import { mapped, unwrap } from '../unwrap.js'
import { describe, expect, it } from 'vitest'
import { success } from '@org/agent-messaging-core/runtime'
import type { Storage } from '@org/agent-messaging-core/storage'
import { memoryStorage } from '../memory/memory-storage.js'
import { ROUNDS, violations } from './concurrency.js'
import { SECOND } from './scene.js'
import { runWorkload } from './workload.js'

const findViolations = async (storage: Storage): Promise<string[]> =>
  violations(await runWorkload({ storages: [storage], seed: 1, rounds: ROUNDS }))

/** Bugs that an adapter can have, each of them put in front of a storage that has none. */
const BUGS: readonly {
  readonly bug: string
  readonly seen: RegExp
  readonly plant: (storage: Storage) => Partial<Storage>
}[] = [
  {
    bug: 'recordRun ignores the token',
    seen: /was recorded after attempt \d+ had begun/,
    plant: ({ messages }) => ({
      messages: {
        ...messages,
        recordRun: async (run) => {
          const held = unwrap(await messages.getHeld(run.messageId))
          return messages.recordRun({ ...run, token: held?.token ?? run.token })
        },
      },
    }),
  },
  {
    bug: 'extendLeases says that lost leases hold',
    seen: /was extended after attempt \d+ had begun/,
    plant: ({ messages }) => ({
      messages: {
        ...messages,
        extendLeases: (held, until) => mapped(messages.extendLeases(held, until), () => []),
      },
    }),
  },
  {
    bug: 'extendLeases extends nothing',
    seen: /^message .* was claimed \d+ ms too early/,
    plant: ({ messages }) => ({
      messages: { ...messages, extendLeases: () => Promise.resolve(success([])) },
    }),
  },
  {
    bug: 'accept starts a second run in a busy session',
    seen: /was handed out while .* of its session was open/,
    plant: ({ messages }) => ({
      messages: {
        ...messages,
        accept: (sent) =>
          mapped(messages.accept(sent), (accepted) => {
            if (accepted.kind !== 'created' || sent.claimUntil === undefined) return accepted
            const message = {
              ...accepted.message,
              attempt: 1,
              state: { kind: 'running', startedAt: sent.now },
            } as const
            return {
              kind: 'claimed',
              claimed: { message, lease: { token: -1, until: sent.claimUntil } },
            } as const
          }),
      },
    }),
  },
  {
    bug: 'accept forgets idempotency keys',
    seen: /^key .* made \d+ messages/,
    plant: ({ messages }) => ({
      messages: { ...messages, accept: ({ idempotencyKey: _, ...sent }) => messages.accept(sent) },
    }),
  },
  {
    bug: 'accept answers for a message that it did not keep',
    seen: /was answered and is there 0 times/,
    plant: ({ messages }) => ({
      messages: {
        ...messages,
        list: (filter, page) => messages.list({ ...filter, sessionId: 'session 0' }, page),
      },
    }),
  },
  {
    bug: 'claimRunnable takes runs whose lease lasts',
    seen: /^message .* was claimed \d+ ms too early/,
    plant: ({ messages }) => ({
      messages: {
        ...messages,
        claimRunnable: (query) => messages.claimRunnable({ ...query, now: query.now + 5 * SECOND }),
      },
    }),
  },
  {
    bug: 'claimRunnable hands out nothing that was ever running',
    seen: /was left running/,
    plant: ({ messages }) => ({
      messages: {
        ...messages,
        claimRunnable: (query) =>
          mapped(messages.claimRunnable(query), (claims) => claims.filter(({ lost }) => !lost)),
      },
    }),
  },
  {
    bug: 'claimRunnable does not count attempts',
    seen: /was claimed as attempts 1, 1/,
    plant: ({ messages }) => ({
      messages: {
        ...messages,
        claimRunnable: (query) =>
          mapped(messages.claimRunnable(query), (claims) =>
            claims.map((claim) => ({ ...claim, message: { ...claim.message, attempt: 1 } })),
          ),
      },
    }),
  },
  {
    bug: 'recordRun loses a result that it says it has recorded',
    seen: /took 2 final results/,
    plant: ({ messages }) => {
      let calls = 0
      return {
        messages: {
          ...messages,
          recordRun: async (run) => {
            if (++calls % 10 !== 0) return messages.recordRun(run)
            const held = unwrap(await messages.getHeld(run.messageId))
            return held?.token === run.token && held.message.state.kind === 'running'
              ? success({
                  kind: 'recorded',
                  message: held.message,
                  deliveries: [],
                  skipped: [],
                  sessionWaits: true,
                })
              : messages.recordRun(run)
          },
        },
      }
    },
  },
  {
    bug: 'recordRun keeps a failure without its event',
    seen: /^event .* has 0 deliveries in place of 2/,
    plant: ({ messages }) => ({
      messages: {
        ...messages,
        recordRun: ({ outgoing, ...run }) =>
          messages.recordRun({
            ...run,
            ...(outgoing && outgoing.events[0]?.name !== 'agent.error' && { outgoing }),
          }),
      },
    }),
  },
  {
    bug: 'claimDue takes deliveries that are being sent',
    seen: /^delivery .* was claimed \d+ ms too early/,
    plant: ({ deliveries }) => ({
      deliveries: {
        ...deliveries,
        claimDue: (query) => deliveries.claimDue({ ...query, now: query.now + 5 * SECOND }),
      },
    }),
  },
  {
    bug: 'recordAttempts records a repeated attempt twice',
    seen: /^delivery .* took \d+ attempts and keeps \d+/,
    plant: ({ deliveries }) => ({
      deliveries: {
        ...deliveries,
        recordAttempts: (records) =>
          mapped(deliveries.recordAttempts(records), (all) =>
            all.map(() => ({ kind: 'recorded' }) as const),
          ),
      },
    }),
  },
  {
    bug: 'recordAttempts refuses what a receiver took',
    seen: /^delivery .* is sending after 0 successes/,
    plant: ({ deliveries }) => ({
      deliveries: {
        ...deliveries,
        recordAttempts: (records) =>
          records.some(({ attempt }) => attempt.outcome.kind === 'accepted')
            ? Promise.resolve(success([{ kind: 'lease_lost' } as const]))
            : deliveries.recordAttempts(records),
      },
    }),
  },
  {
    bug: 'attempts are numbered from 0',
    seen: /^delivery .* counts \d+ attempts, numbered 0/,
    plant: ({ deliveries }) => ({
      deliveries: {
        ...deliveries,
        get: (projectId, id) =>
          mapped(deliveries.get(projectId, id), (detail) => {
            const attempts = detail?.attempts.map((attempt, attemptNumber) => ({
              ...attempt,
              attemptNumber,
            }))
            return detail && attempts && { ...detail, attempts }
          }),
      },
    }),
  },
]

describe('the check of everything at once', () => {
  it('finds nothing wrong with a storage that keeps its promises', async () => {
    expect(await findViolations(memoryStorage())).toEqual([])
  })

  it.each(BUGS)('catches that $bug', async ({ plant, seen }) => {
    const storage = memoryStorage()
    const found = await findViolations({ ...storage, ...plant(storage) })
    expect(found).toContainEqual(expect.stringMatching(seen))
  })
})
