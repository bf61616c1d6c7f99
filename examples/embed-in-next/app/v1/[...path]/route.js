// Serves the routes of the service, which all start with /v1.
import { http } from '../../../lib/messaging.js'

export const runtime = 'nodejs'

const handle = async (request) => (await http()).fetch(request)
export { handle as DELETE, handle as GET, handle as PATCH, handle as POST }
