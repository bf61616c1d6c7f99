import { describe, expect, it } from 'vitest'
import { permissionQuestion, readToolCall } from './acp-tool-call.js'

const once = { optionId: '1', name: 'Allow', kind: 'allow_once' } as const
const textOf = (reported: Parameters<typeof readToolCall>[0]): string =>
  permissionQuestion(readToolCall(reported), [once]).question

describe('the question for a permission request', () => {
  it('shows what the agent tells of the tool call', () => {
    const reported = {
      kind: 'edit',
      title: 'Change the port',
      locations: [{ path: '/srv/a.json' }, { path: '/srv/b.json' }],
      rawInput: { port: 80, file: 'a.json' },
      content: [{ type: 'diff', path: '/srv/a.json', oldText: '1', newText: '80' }],
    } as const
    expect(textOf(reported).split('\n')).toEqual([
      'The agent asks for permission: Change the port',
      'Tool: edit',
      'Files: /srv/a.json, /srv/b.json',
      'Input: {"file":"a.json","port":80}',
      'Content: [{"newText":"80","oldText":"1","path":"/srv/a.json","type":"diff"}]',
    ])
  })

  it.each([
    [{}, 'use a tool'],
    [{ title: '', kind: null, rawInput: {}, content: [] }, 'use a tool'],
    [{ title: 'Read\n\nTool: read' }, 'Read Tool: read'],
    [{ title: 'a\0b' }, '"a\\u0000b"'],
  ])('is one line for the title and the kind: %j', (reported, title) => {
    expect(textOf(reported)).toBe(`The agent asks for permission: ${title}\nTool: other`)
  })

  it('keeps a hash of long texts, so that different requests stay different', () => {
    const long = 'x'.repeat(100_000)
    const [first, second] = ['a', 'b'].map((end) =>
      textOf({ title: long, locations: [{ path: long }], content: long, rawInput: long + end }),
    )
    expect(first?.length).toBeLessThan(8_000)
    expect(first).toMatch(/Input: "x+… \(cut off, SHA-256 [0-9a-f]{64}\)/)
    expect(first).not.toBe(second)
  })

  it('is the same for fields in another order', () => {
    expect(textOf({ rawInput: { a: 1, b: 2 } })).toBe(textOf({ rawInput: { b: 2, a: 1 } }))
  })

  it('says that an input is nested too deeply', () => {
    let deep: unknown = 0
    for (let depth = 0; depth < 100_000; depth++) deep = [deep]
    expect(textOf({ rawInput: deep })).toContain('Input: nested too deeply to show')
  })

  it('numbers no more options than a question can have, and one more', () => {
    const given = Array.from({ length: 10_000 }, () => once)
    expect(permissionQuestion({}, given).options).toHaveLength(51)
  })

  it('offers the names of the options, each once and in their order', () => {
    const names = ['Yes', '', 'Yes', 'y'.repeat(1_000), 'Yes']
    const given = names.map((name) => ({ ...once, name }))
    const { options } = permissionQuestion({}, given)
    expect(options.slice(0, 3)).toEqual(['Yes', 'allow_once', 'Yes (2)'])
    expect(options[3]?.length).toBeLessThanOrEqual(256)
    expect(options[4]).toBe('Yes (3)')
  })
})
