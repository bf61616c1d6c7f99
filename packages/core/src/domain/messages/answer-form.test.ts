import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../values/json.js'
import { answerFields, answerOfForm } from './answer-form.js'

const order: JsonObject = {
  type: 'object',
  properties: {
    number: {
      type: 'integer',
      title: 'Order',
      description: 'See the mail',
      minimum: 1,
      default: 7,
    },
    size: { enum: ['S', 'L'] },
    isGift: { type: 'boolean', title: 1 },
    note: { type: 'string', maxLength: 9 },
    more: { type: 'array' },
    to: {
      type: 'object',
      title: 'Address',
      properties: { street: { type: 'string' }, 'a.b~c': {} },
      required: ['street'],
    },
  },
  required: ['number'],
}

/** The form of a schema as one line for each field. */
const shown = (asked: object) =>
  answerFields(asked).map(({ name, label, kind, choices, needs = '', isRequired }) =>
    [name, label, kind, choices.map((one) => one.label).join('|'), needs, isRequired ? '*' : '']
      .filter((part) => part !== '')
      .join('; '),
  )

describe('the form of an answer', () => {
  it.each<[object, string[]]>([
    [{}, ['value; Answer; text; *']],
    [{ options: ['a', 'b'] }, ['value; Answer; choice; a|b; one of the choices; *']],
    [
      { schema: { type: 'boolean', title: 'Sure' } },
      ['value; Sure; choice; Yes|No; one of the choices; *'],
    ],
    [{ schema: { anyOf: [{}] } }, ['value; Answer; json; JSON; *']],
    [{ schema: { type: 'object' } }, ['value; Answer; json; JSON; *']],
    [
      { schema: { oneOf: [{ const: 1, title: 'One' }, { const: null }] } },
      ['value; Answer; choice; One|null; one of the choices; *'],
    ],
    [
      { schema: { type: ['number', 'null'], exclusiveMinimum: 0, multipleOf: 0.5 } },
      ['value; Answer; number; a number, above 0, a multiple of 0.5'],
    ],
    [{ schema: { type: ['number', 'string'] } }, ['value; Answer; json; JSON; *']],
    [
      { schema: { type: 'string', format: 'date' } },
      ['value; Answer; date; a date such as 2026-12-31; *'],
    ],
    [
      { schema: { type: 'string', format: 'email' } },
      ['value; Answer; line; an e-mail address such as ada@example.com; *'],
    ],
    [{ schema: { type: 'string', format: 'x' } }, ['value; Answer; text; *']],
    [
      { schema: { type: 'array', items: { type: 'string' }, minItems: 2, uniqueItems: true } },
      [
        'value; Answer; list; a list with one item per line, each a text, at least 2 items, no item twice; *',
      ],
    ],
    [
      { schema: { type: 'array', items: { type: 'integer' } } },
      ['value; Answer; list; a list with one item per line, each a whole number'],
    ],
    [
      { schema: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 1 } },
      ['value; Answer; choices; a|b; a selection, at most 1 item'],
    ],
    [
      { schema: { type: 'array', items: { type: 'array' } } },
      ['value; Answer; json; a list as JSON; *'],
    ],
    [
      { schema: { type: 'array', items: { type: 'array', items: { enum: [1] } } } },
      ['value; Answer; json; a list as JSON; *'],
    ],
    [
      { schema: { type: 'array', items: { type: 'string' }, prefixItems: [true] } },
      ['value; Answer; json; a list as JSON; *'],
    ],
    [
      { schema: { type: 'object', properties: { any: true }, required: 'any' } },
      ['value.any; any; json; JSON; *'],
    ],
    [
      { schema: order },
      [
        'value.number; Order; number; a whole number, at least 1; *',
        'value.size; size; choice; S|L; one of the choices',
        'value.isGift; isGift; choice; Yes|No; one of the choices',
        'value.note; note; text; a text, at most 9 characters',
        'value.more; more; json; a list as JSON',
        'value.to.street; Address: street; text',
        'value.to.a~1b~0c; Address: a.b~c; json; JSON',
      ],
    ],
  ])('of %j has the fields %j', (asked, fields) => {
    expect(shown(asked)).toEqual(fields)
  })

  it('has the description and the texts of the default', () => {
    const [number] = answerFields({ schema: order })
    expect(number).toMatchObject({ description: 'See the mail', initial: ['7'] })
    const list = { type: 'array', items: { type: 'string' }, default: ['a', 'b'] }
    expect(answerFields({ schema: list })[0]?.initial).toEqual(['a', 'b'])
  })

  const LISTS = { type: 'array', items: { type: 'integer', minimum: 1 }, uniqueItems: true }
  it.each<[object, Record<string, string | string[]>, Json]>([
    [{}, { value: ' 7\r\n8' }, ' 7\n8'],
    [{ options: ['a'] }, { value: 'a' }, 'a'],
    [{ schema: { type: 'boolean' } }, { value: 'true' }, true],
    [{ schema: { enum: [null, 2] } }, { value: 'null' }, null],
    [{ schema: { type: 'number' } }, { value: ' 1.5 ' }, 1.5],
    [{ schema: { type: ['number', 'null'] } }, { value: '' }, null],
    [{ schema: { type: 'string', format: 'date' } }, { value: '2026-12-31 ' }, '2026-12-31'],
    [{ schema: { type: 'string', format: 'email' } }, { value: ' a@b.example' }, 'a@b.example'],
    [{ schema: { type: 'array' } }, { value: '[1]' }, [1]],
    [{ schema: LISTS }, { value: '1\r\n\r\n 2' }, [1, 2]],
    [{ schema: LISTS }, {}, []],
    [{ schema: { type: 'array', items: { enum: ['a', 2] } } }, { value: ['a', '2'] }, ['a', 2]],
    [
      { schema: order },
      { 'value.number': '7', 'value.size': 'L', 'value.isGift': 'false', 'value.note': '', no: '' },
      { number: 7, size: 'L', isGift: false },
    ],
    [
      { schema: order },
      { 'value.number': '7', 'value.to.street': 'S', 'value.to.a~1b~0c': '1' },
      { number: 7, to: { street: 'S', 'a.b~c': 1 } },
    ],
  ])('of %j with %j gives %j', (asked, texts, value) => {
    const read = answerOfForm(asked, (name) => [texts[name] ?? []].flat())
    expect(read).toEqual({ value, problems: {} })
  })

  const REQUIRED = 'This needs an answer.'
  it.each<[object, Record<string, string>, Record<string, string>]>([
    [{}, {}, { value: REQUIRED }],
    [{ options: ['a'] }, { value: 'b' }, { value: 'This must be one of the choices.' }],
    [
      {},
      { value: 'x'.repeat(16_384) },
      { value: 'This must have at most 16384 characters as JSON.' },
    ],
    [
      { schema: { type: 'number', maximum: 5 } },
      { value: '1,5' },
      { value: 'This must be a number, at most 5.' },
    ],
    [
      { schema: { type: 'string', format: 'date' } },
      { value: '2026-02-30' },
      { value: 'This must be a date such as 2026-12-31.' },
    ],
    [
      { schema: LISTS },
      { value: '1\n1' },
      {
        value:
          'This must be a list with one item per line, each a whole number, at least 1, no item twice.',
      },
    ],
    [{ schema: { type: 'array' } }, { value: '[' }, { value: 'This must be a list as JSON.' }],
    [
      { schema: { type: 'array', items: false } },
      { value: '[1]' },
      { value: 'This does not match the schema at /0: No value is allowed here.' },
    ],
    [
      { schema: { type: 'integer', not: { const: 3 } } },
      { value: '3' },
      { value: 'This does not match the schema: Instance matched "not" schema.' },
    ],
    [
      { schema: order },
      {
        'value.number': 'x',
        'value.size': 'M',
        'value.note': '1234567890',
        'value.to.a~1b~0c': '1',
      },
      {
        'value.number': 'This must be a whole number, at least 1.',
        'value.size': 'This must be one of the choices.',
        'value.note': 'This must be a text, at most 9 characters.',
        'value.to.street': REQUIRED,
      },
    ],
    [{ schema: order }, {}, { 'value.number': REQUIRED }],
  ])('of %j with %j names all problems', (asked, texts, problems) => {
    expect(answerOfForm(asked, (name) => [texts[name] ?? []].flat()).problems).toEqual(problems)
  })
})
