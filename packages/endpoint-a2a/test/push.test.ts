import { StreamResponse, TaskState, type Task, type TaskPushNotificationConfig } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { describe, expect, it } from 'vitest'
import { asking, BINDINGS, openScene, type Binding } from './scene.js'

const { TASK_STATE_CANCELED, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_WORKING } =
  TaskState
const { TASK_STATE_INPUT_REQUIRED } = TaskState
const URL = 'https://client.example/notifications'
const BEARER = { scheme: 'Bearer', credentials: 'a secret of the client' }

const config = (given: Partial<TaskPushNotificationConfig> = {}): TaskPushNotificationConfig => ({
  tenant: '',
  id: '',
  taskId: '',
  url: URL,
  token: '',
  authentication: undefined,
  ...given,
})

const AT_ONCE = { returnImmediately: true }

async function scene(binding: Binding) {
  const opened = await openScene()
  const client = await opened.clientOf('slow', binding)
  const { sender } = opened
  /** The tasks that the receiver got. */
  const pushed = () =>
    sender.requests.map(({ body }) => {
      const { payload } = StreamResponse.fromJSON(JSON.parse(body))
      if (payload?.$case !== 'task') throw new Error(`${payload?.$case} is not a task`)
      return payload.value
    })
  const states = () => pushed().map(({ status }) => status?.state)
  const start = async (given?: TaskPushNotificationConfig, by: Client = client) => {
    const configuration = { ...AT_ONCE, taskPushNotificationConfig: given }
    const { id } = (await by.sendMessage(asking('Hi', { configuration }))) as Task
    return id
  }
  return { ...opened, client, pushed, start, states }
}

describe.each(BINDINGS)('push notification configs over %s', (binding) => {
  it('of a send get the final task with the headers of A2A and a signature', async () => {
    const { client, pushed, runtime, sender, start } = await scene(binding)
    const token = `whsec_${btoa('x'.repeat(32))}`
    const id = await start(config({ token, authentication: BEARER }))
    await expect.poll(() => runtime.openRuns).toEqual([id])
    runtime.answer(id, 'Done')
    await expect.poll(pushed).toHaveLength(1)
    const task = await client.getTask({ tenant: '', id })
    expect(pushed()).toEqual([{ ...task, history: [] }])
    expect(sender.requests[0]).toMatchObject({
      url: URL,
      headers: {
        'content-type': 'application/a2a+json',
        'X-A2A-Notification-Token': token,
        Authorization: 'Bearer a secret of the client',
        'X-Service-Event': 'message.responded',
        'X-Service-Signature': expect.stringMatching(/^sha256=/),
      },
    })
    expect(await configs(client, id)).toEqual([config({ id, taskId: id })])
  })

  it('get every later state of the task, with the same body at each attempt', async () => {
    const { client, clock, pushed, runtime, sender, start, states } = await scene(binding)
    const id = await start()
    await client.createTaskPushNotificationConfig(config({ taskId: id, id: 'mine' }))
    await expect.poll(() => runtime.openRuns).toEqual([id])
    sender.script({ kind: 'refused', statusCode: 500, responseBody: '' })
    runtime.ask(id, { question: 'Pay?', options: ['yes', 'no'] })
    await expect.poll(pushed).toHaveLength(1)
    expect(pushed()[0]?.status).toEqual((await client.getTask({ tenant: '', id })).status)
    await clock.advance(10_000)
    await expect.poll(pushed).toHaveLength(2)
    expect(sender.requests[1]?.body).toBe(sender.requests[0]?.body)
    const answer = asking('yes', { taskId: id, configuration: AT_ONCE })
    await client.sendMessage(answer)
    await expect.poll(states).toContain(TASK_STATE_WORKING)
    await client.cancelTask({ tenant: '', id, metadata: {} })
    await expect
      .poll(states)
      .toEqual([
        TASK_STATE_INPUT_REQUIRED,
        TASK_STATE_INPUT_REQUIRED,
        TASK_STATE_WORKING,
        TASK_STATE_CANCELED,
      ])
  })

  it('get the reason of a failure, and tasks without a config send nothing', async () => {
    const { client, clientOf, pushed, start } = await scene(binding)
    const failing = await clientOf('failing', binding)
    await start(undefined, failing)
    const id = await start(config(), failing)
    await expect.poll(pushed).toHaveLength(1)
    expect(pushed()[0]).toMatchObject({ id, status: { state: TASK_STATE_FAILED } })
    const { status } = await failing.getTask({ tenant: '', id })
    expect(pushed()[0]?.status).toEqual(status)
    await expect(configs(client, id)).rejects.toMatchObject({ reason: 'TASK_NOT_FOUND' })
  })

  it('of a repeated send, and of an answer, belong to the same task', async () => {
    const { client, pushed, runtime, states } = await scene(binding)
    const messageId = crypto.randomUUID()
    const send = async (given: TaskPushNotificationConfig | undefined) => {
      const configuration = { ...AT_ONCE, taskPushNotificationConfig: given }
      return (await client.sendMessage(asking('Hi', { messageId, configuration }))) as Task
    }
    const { id } = await send(undefined)
    await send(config())
    await send(config())
    expect(await configs(client, id)).toEqual([config({ id, taskId: id })])
    await expect.poll(() => runtime.openRuns).toEqual([id])
    runtime.ask(id, { question: 'Pay?' })
    await expect.poll(pushed).toHaveLength(1)
    const configuration = { ...AT_ONCE, taskPushNotificationConfig: config({ id: 'second' }) }
    await client.sendMessage(asking('yes', { taskId: id, configuration }))
    expect(await configs(client, id)).toHaveLength(2)
    await expect.poll(() => runtime.openRuns).toEqual([id])
    runtime.answer(id, 'Paid')
    await expect
      .poll(() => states().filter((state) => state === TASK_STATE_COMPLETED))
      .toHaveLength(2)
  })

  it('are read, changed and deleted, and are no webhooks of the project', async () => {
    const { client, projectId, pushed, request, runtime, service, start } = await scene(binding)
    const taskId = await start()
    const mine = config({ taskId, id: 'mine', token: 'a token', authentication: BEARER })
    const shown = config({ taskId, id: 'mine' })
    expect(await client.createTaskPushNotificationConfig(mine)).toEqual(shown)
    const moved = { ...mine, url: 'https://other.example/' }
    await client.createTaskPushNotificationConfig(moved)
    const ref = { tenant: '', taskId, id: 'mine' }
    expect(await client.getTaskPushNotificationConfig(ref)).toEqual({ ...shown, url: moved.url })
    expect(await configs(client, taskId)).toHaveLength(1)
    const listed = await service.webhooks.list({ projectId, limit: 10 })
    expect(listed.data).toEqual([])
    await client.deleteTaskPushNotificationConfig(ref)
    await client.deleteTaskPushNotificationConfig(ref)
    const path = `/slow/tasks/${taskId}/pushNotificationConfigs/mine`
    const deleted = await request(path, { method: 'DELETE' })
    expect([deleted.status, deleted.json]).toEqual([200, {}])
    await expect(client.getTaskPushNotificationConfig(ref)).rejects.toMatchObject({
      reason: 'TASK_NOT_FOUND',
    })
    await expect.poll(() => runtime.openRuns).toEqual([taskId])
    runtime.answer(taskId, 'Done')
    await expect
      .poll(
        async () => (await request(`/slow/tasks/${taskId}`, { method: 'GET' })).json.status.state,
      )
      .toBe('TASK_STATE_COMPLETED')
    expect(pushed()).toEqual([])
  })

  it('are refused if the service could not send to them', async () => {
    const { client, messagesOf, otherKey, clientOf, sender, start } = await scene(binding)
    const taskId = await start()
    sender.refuse('http://10.0.0.1/', 'must not lead to a private address')
    const set = (given: Partial<TaskPushNotificationConfig>) =>
      client.createTaskPushNotificationConfig(config({ taskId, ...given }))
    const invalid = { reason: 'INVALID_PARAMS' }
    await expect(set({ url: 'http://10.0.0.1/' })).rejects.toThrow('private address')
    await expect(set({ url: '' })).rejects.toMatchObject(invalid)
    await expect(set({ token: 'a\nb' })).rejects.toMatchObject(invalid)
    const half = { scheme: 'Bearer', credentials: '' }
    await expect(set({ authentication: half })).rejects.toMatchObject(invalid)
    await expect(start(config({ url: 'http://10.0.0.1/' }))).rejects.toThrow('private address')
    expect(await messagesOf('slow')).toHaveLength(1)
    for (let n = 0; n < 10; n++) await set({ id: `config-${n}` })
    await expect(set({ id: 'one more' })).rejects.toThrow('at most 10')
    const missing = { reason: 'TASK_NOT_FOUND' }
    await expect(set({ taskId: crypto.randomUUID() })).rejects.toMatchObject(missing)
    await expect(clientOf('slow', binding, otherKey)).rejects.toThrow()
  })
})

const configs = async (client: Client, taskId: string): Promise<TaskPushNotificationConfig[]> => {
  const request = { tenant: '', taskId, pageSize: 0, pageToken: '' }
  return (await client.listTaskPushNotificationConfig(request)).configs
}
