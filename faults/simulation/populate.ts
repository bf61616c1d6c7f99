import type { MessagingService } from '@org/agent-messaging-core'
import { KIND } from './agents.js'
import { MAX_QUEUED } from './policy.js'
import type { AnyProcess } from './process.js'
import { newReceiver, THIN } from './receivers.js'

/** Rows that exist from the start to the end of a simulation. */
export type Population = {
  readonly projectId: string
  readonly agentIds: readonly string[]
  readonly webhookUrls: ReadonlySet<string>
  /** True if persons are erased. The counts then have more than the tables. */
  readonly erases: boolean
}

export async function populate(
  anyProcess: AnyProcess,
  agents: number,
  webhooks: number,
  { hasThin, erases }: { readonly hasThin: boolean; readonly erases: boolean },
): Promise<Population> {
  const ask = async <T>(request: (service: MessagingService) => Promise<T>): Promise<T> => {
    const answer = await anyProcess()?.ask(request)
    if (!answer) throw new Error('no process answers before the first fault')
    return answer._unsafeUnwrap()
  }
  const { id: projectId } = await ask((service) => service.projects.create({ name: 'simulated' }))
  const agentIds: string[] = []
  for (let n = 1; n <= agents; n++) {
    const settings = {
      projectId,
      name: `agent-${n}`,
      runtime: { kind: KIND },
      desiredState: 'running',
      maxQueued: MAX_QUEUED,
    } as const
    const created = await ask((service) =>
      service.agents.create({ ...settings, concurrency: 1 + n, maxAttempts: 1 + n }),
    )
    agentIds.push(created.agent.id)
  }
  const webhookUrls = new Set<string>()
  for (let n = 1; n <= webhooks; n++) {
    const { webhook } = await ask((service) =>
      service.webhooks.create(newReceiver(projectId, `receiver-${n}`, { isOrdered: n === 2 })),
    )
    webhookUrls.add(webhook.url)
  }
  if (hasThin) {
    const { webhook } = await ask((service) =>
      service.webhooks.create({ ...newReceiver(projectId, 'thin', { isOrdered: true }), ...THIN }),
    )
    webhookUrls.add(webhook.url)
  }
  return { projectId, agentIds, webhookUrls, erases }
}
