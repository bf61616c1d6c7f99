import { z } from 'zod'
import { json } from './input.js'
import { inputPartSchema } from './input-part.js'
import { variants } from './variants.js'
import { named } from './body.js'

const part = <const Type extends string, Shape extends z.ZodRawShape>(
  id: string,
  type: Type,
  shape: Shape,
) => named(id, { type: z.literal(type), ...shape })

const text = z.string()
const toolCallId = text
const toolName = text
const title = text.optional()
const [, filePart] = inputPartSchema.options

const shared = [
  part('AnswerDataPart', 'data', {
    name: text,
    id: text.optional().describe('Later data with the same name and id replaces this one.'),
    data: json,
  }),
  filePart,
  part('SourceUrlPart', 'source-url', { sourceId: text, url: text, title }),
] as const

export const partSchema = variants('type', [
  part('TextPart', 'text', { text }),
  part('ReasoningPart', 'reasoning', { text }),
  part('ToolPart', 'tool', {
    toolCallId,
    toolName,
    title,
    state: z.enum(['input-streaming', 'input-available', 'output-available', 'output-error']),
    input: json.optional(),
    output: json.optional().describe('Present if the state is `output-available`, and it fits.'),
    errorText: text.optional(),
  }),
  part('StepPart', 'step', { name: text.optional() }),
  ...shared,
]).meta({ id: 'Part', description: 'A part of an answer.' })

export const partEventSchema = variants('type', [
  part('ReasoningDelta', 'reasoning-delta', { id: text, text }),
  part('ToolInputStart', 'tool-input-start', { toolCallId, toolName, title }),
  part('ToolInputDelta', 'tool-input-delta', { toolCallId, inputTextDelta: text }),
  part('ToolInputAvailable', 'tool-input-available', { toolCallId, toolName, title, input: json }),
  part('ToolOutputAvailable', 'tool-output-available', {
    toolCallId,
    output: json,
    preliminary: z.boolean().optional().describe('True if a later output replaces this one.'),
  }),
  part('ToolOutputError', 'tool-output-error', { toolCallId, errorText: text }),
  part('StartStep', 'start-step', { name: text.optional() }),
  part('FinishStep', 'finish-step', {}),
  ...shared,
]).meta({ id: 'PartEvent', description: 'A change of the parts while the agent works.' })
