import { describe, expect, it } from 'vitest'
import { openScene, readerOf, saying, shownAfter, typesOf } from './scene.js'

/** Opens a scene, and starts a run that the test answers. */
async function openRun() {
  const scene = await openScene()
  const reader = readerOf(await scene.post('slow', saying('Hi')))
  await expect.poll(() => scene.runtime.openRuns).toHaveLength(1)
  const [request] = scene.runtime.requests
  if (!request) throw new Error('expected a run')
  return { ...scene, reader, request }
}

const isText = ({ type }: { readonly type: string }): boolean => type === 'TEXT_MESSAGE_CONTENT'

describe('a run', () => {
  it('sends the last message of the user, and streams the answer', async () => {
    const { run, messagesOf } = await openScene()
    const messages = [
      { id: 'm-0', role: 'user', content: 'Before' },
      { id: 'a-0', role: 'assistant', content: 'Yes' },
      { id: 'm-1', role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      { id: 's-1', role: 'system', content: 'Be kind' },
    ]
    const events = await run('echo', saying('', { messages }))
    const messageId = events[1]?.['messageId']
    expect(events).toEqual([
      { type: 'RUN_STARTED', threadId: 't-1', runId: 'r-1', protocolVersion: '1.0' },
      { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'Hello' },
      { type: 'TEXT_MESSAGE_END', messageId },
      { type: 'RUN_FINISHED', threadId: 't-1', runId: 'r-1', outcome: { type: 'success' } },
    ])
    expect(await messagesOf('echo')).toMatchObject([
      { sessionId: 't-1', message: 'Hello', metadata: { 'ag-ui': { messageId: 'm-1' } } },
    ])
  })

  it('has the headers of a stream, and starts at once', async () => {
    const { post } = await openScene()
    const answer = await post('slow', saying('Hi'))
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    })
    const reader = readerOf(answer)
    expect(typesOf(await reader.until(() => true))).toEqual(['RUN_STARTED'])
    await reader.leave()
  })

  it('is made once for its id, and a repeated run begins with the messages', async () => {
    const { run, messagesOf } = await openScene()
    const first = await run('echo', saying('Hello'))
    const again = await run('echo', saying('Hello'))
    expect(typesOf(again)).toEqual(typesOf(first).toSpliced(1, 0, 'MESSAGES_SNAPSHOT'))
    expect(shownAfter(again)).toEqual([
      ['user', 'Hello'],
      ['assistant', 'Hello'],
    ])
    await run('echo', saying('Hello', { runId: 'r-2' }))
    await run('echo', saying('Hello', { threadId: 't-2' }))
    expect(await messagesOf('echo')).toHaveLength(3)
  })

  it('goes on when its reader leaves', async () => {
    const { reader, request, runtime, run } = await openRun()
    request.emit('Hel')
    await reader.until(isText)
    await reader.leave()
    expect(runtime.openRuns).toHaveLength(1)
    runtime.answer(request.messageId, 'Hello')
    expect(shownAfter(await run('slow', saying('Hi')))).toEqual([
      ['user', 'Hi'],
      ['assistant', 'Hello'],
    ])
  })

  it('starts again with the messages if its attempt is superseded', async () => {
    const { clock, reader, request, runtime } = await openRun()
    request.emit({ type: 'start-step', name: 'look' })
    request.emit({ type: 'tool-input-start', toolCallId: 'c1', toolName: 'search' })
    request.emit('void')
    await reader.until(isText)
    runtime.fail(request.messageId, 'a passing failure', { retryable: true })
    await expect
      .poll(async () => {
        await clock.advance(1_000)
        return runtime.openRuns.length
      })
      .toBe(1)
    const second = runtime.requests[1]
    second?.emit({ type: 'tool-input-start', toolCallId: 'c1', toolName: 'search' })
    runtime.answer(request.messageId, 'Answer')
    const events = await reader.all()
    expect(typesOf(events)).toContain('MESSAGES_SNAPSHOT')
    expect(shownAfter(events)).toEqual([
      ['user', 'Hi'],
      ['assistant', 'search'],
      ['assistant', 'Answer'],
      ['tool', ''],
    ])
  })

  it('ends with the error of the agent', async () => {
    const { run } = await openScene()
    const events = await run('fail', saying('Hello'))
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      code: 'RUNTIME_ERROR',
      message: 'told to fail',
    })
  })

  it('reports the tokens', async () => {
    const { run } = await openScene({
      counting: ({ reportUsage }) => {
        reportUsage({ inputTokens: 12, outputTokens: 3 })
        return 'ok'
      },
    })
    const events = await run('counting', saying('Hello'))
    expect(events.at(-1)?.['usage']).toEqual([{ inputTokens: 12, outputTokens: 3 }])
  })

  it('ends with an error if the service stops or its key is revoked', async () => {
    const stopped = await openRun()
    const events = stopped.reader.all()
    await stopped.service.stop({ graceMs: 0 })
    expect((await events).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'STREAM_INTERRUPTED' })

    const { clock, projectId, reader, service } = await openRun()
    const revoked = reader.all()
    for (const { id } of (await service.keys.list({ projectId, limit: 10 })).data)
      await service.keys.revoke({ projectId, keyId: id })
    for (let waited = 0; waited < 30_000; waited += 1_000) await clock.advance(1_000)
    expect((await revoked).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'UNAUTHORIZED' })
  })

  it('is cancelled by the stop route', async () => {
    const { post, reader, request, runtime } = await openRun()
    request.emit('Hel')
    await reader.until(isText)
    const later = readerOf(await post('slow', saying('And?', { runId: 'r-2' })))
    const answer = await post('slow/stop', { threadId: 't-1' })
    expect([answer.status, await answer.json()]).toEqual([200, { threadId: 't-1' }])
    for (const one of [reader, later])
      expect((await one.all()).at(-1)).toMatchObject({
        type: 'RUN_FINISHED',
        outcome: { type: 'cancelled' },
      })
    expect(runtime.requests).toHaveLength(1)
  })
})
