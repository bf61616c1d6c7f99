import { describe, expect, it } from 'vitest'
import { openScene, readerOf, saying, shownAfter, typesOf } from './scene.js'

const connecting = { threadId: 't-1', runId: 'c-1', messages: [], tools: [], state: {} }

describe('connect', () => {
  it('has the messages of a thread without an open message', async () => {
    const { run } = await openScene()
    const first = shownAfter(await run('echo', saying('one')))
    const second = shownAfter(await run('echo', saying('two', { runId: 'r-2' })))
    const events = await run('echo/connect', connecting)
    expect(typesOf(events)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    expect(shownAfter(events)).toEqual([['user', 'one'], ...first, ['user', 'two'], ...second])
  })

  it('has an id for each message of the user, also for one that was sent twice', async () => {
    const { run } = await openScene()
    await run('echo', saying('one'))
    await run('echo', saying('one', { runId: 'r-2' }))
    expect(shownAfter(await run('echo/connect', connecting))).toHaveLength(4)
  })

  it('is empty for a new thread', async () => {
    const { run } = await openScene()
    expect(shownAfter(await run('echo/connect', connecting))).toEqual([])
  })

  it('goes on with the oldest open answer from its start', async () => {
    const { post, run, runtime } = await openScene()
    runtime.requests.at(-1)
    const page = readerOf(await post('slow', saying('one')))
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    const later = await post('slow', saying('two', { runId: 'r-2' }))
    runtime.requests[0]?.emit('The beginning.')
    await page.until(({ type }) => type === 'TEXT_MESSAGE_CONTENT')
    await page.leave()

    const reader = readerOf(await post('slow/connect', connecting))
    await reader.until(({ type }) => type === 'TEXT_MESSAGE_CONTENT')
    runtime.answer(runtime.openRuns[0] ?? '', 'The beginning. The end.')
    expect(shownAfter(await reader.all())).toEqual([
      ['user', 'one'],
      ['assistant', 'The beginning. The end.'],
    ])
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    runtime.answer(runtime.openRuns[0] ?? '', 'Two.')
    await readerOf(later).all()
    expect(shownAfter(await run('slow/connect', connecting))).toHaveLength(4)
  })

  it('has the states, and other data, files and sources', async () => {
    const url = 'https://shop.example/a.pdf'
    const { run, messagesOf } = await openScene({
      async *parts({ message }) {
        yield { type: 'data', name: 'state', data: { of: message } }
        yield { type: 'data', name: 'chart', data: [message] }
        yield { type: 'file', url, mediaType: 'application/pdf' }
        yield { type: 'source-url', sourceId: 's', url }
        yield 'Done.'
      },
    })
    const live = await run('parts', saying('one'))
    const [, snapshot, ...custom] = live
    expect(snapshot).toEqual({ type: 'STATE_SNAPSHOT', snapshot: { of: 'one' } })
    const messageId = (await messagesOf('parts'))[0]?.id
    expect(custom.slice(0, 3)).toEqual([
      {
        type: 'CUSTOM',
        name: 'chart',
        value: { messageId, type: 'data', name: 'chart', data: ['one'] },
      },
      {
        type: 'CUSTOM',
        name: 'file',
        value: { messageId, type: 'file', url, mediaType: 'application/pdf' },
      },
      {
        type: 'CUSTOM',
        name: 'source-url',
        value: { messageId, type: 'source-url', sourceId: 's', url },
      },
    ])
    await run('parts', saying('two', { runId: 'r-2' }))
    const events = await run('parts/connect', connecting)
    const state = events.findLast(({ type }) => type === 'STATE_SNAPSHOT')
    expect(state).toEqual({ type: 'STATE_SNAPSHOT', snapshot: { of: 'two' } })
    const shown = events.filter(({ type }) => type === 'CUSTOM')
    expect(shown).toHaveLength(6)
    expect(shown.slice(0, 3)).toEqual(custom.slice(0, 3))
  })

  it('shows the files that a user sent', async () => {
    const source = { type: 'url', value: 'https://files.example/a.png', mimeType: 'image/png' }
    const other = { type: 'url', value: 'https://files.example/a' }
    const { run, messagesOf } = await openScene()
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image', source },
      { type: 'document', source: other },
    ]
    await run('echo', saying(content))
    const [message] = await messagesOf('echo')
    expect(message?.inputParts).toEqual([
      { type: 'file', url: source.value, mediaType: 'image/png' },
      { type: 'file', url: other.value, mediaType: 'application/octet-stream' },
    ])
    const [user] = shownAfter(await run('echo/connect', connecting))
    expect(user).toEqual([
      'user',
      [
        { type: 'text', text: 'Look' },
        { type: 'image', source },
        { type: 'document', source: { ...other, mimeType: 'application/octet-stream' } },
      ],
    ])
  })

  it('is refused to a key that cannot read, and of an agent that is not there', async () => {
    const { keyWith, refusalOf } = await openScene()
    const key = await keyWith(['project:agents'])
    for (const path of ['echo', 'echo/connect', 'echo/stop'])
      expect(await refusalOf(path, saying('Hi'), key)).toMatchObject([403, { code: 'FORBIDDEN' }])
    for (const path of ['nobody', 'nobody/connect', 'nobody/stop'])
      expect(await refusalOf(path, saying('Hi'))).toMatchObject([404, { code: 'NOT_FOUND' }])
    expect(await refusalOf('echo/other', saying('Hi'))).toMatchObject([404, {}])
    expect(await refusalOf('echo', saying('Hi'), 'wrong')).toMatchObject([401, {}])
  })
})
