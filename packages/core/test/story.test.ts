import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { expect, it } from 'vitest'
import { scene } from './scene.js'

it('the story of a message knows every webhook of the project', async () => {
  const webhooksPerProject = 120
  const { service, project, hook, post, clock } = await scene({
    handler: () => ({ kind: 'answered', response: 'hi' }),
    policy: { limits: { ...defaultLimits, webhooksPerProject } },
  })
  const made = []
  for (let n = 0; n < webhooksPerProject; n++) made.push((await hook()).webhook)
  const change = { paused: true, description: 'held' }
  for (const webhook of [made.at(0), made.at(-1)])
    await service.webhooks.update({
      projectId: project.id,
      webhookId: webhook?.id ?? '',
      change,
    })
  const { id: messageId } = await post()
  await clock.advance(1_000)
  const { story } = await service.messages.story({ projectId: project.id, messageId })
  const held = 'held does not have message.responded: it is paused.'
  expect(story.text).toContain(`118 of 120 receivers have message.responded. ${held} ${held}`)
})

it('the story of a queued message names the one that comes first', async () => {
  const { service, project, post, clock } = await scene({
    handler: () => new Promise(() => undefined),
  })
  const first = await post()
  const { id: messageId } = await post()
  await clock.advance(1_000)
  const { story } = await service.messages.story({ projectId: project.id, messageId })
  expect(story.text).toBe(`Message ${first.id} of its session comes first, in state running.`)
})
