// Serves the service's routes, which all start with /v1.
import { messaging } from '../../../lib/messaging.js'

export const runtime = 'nodejs'

const handle = async (request) => (await messaging()).fetch(request)
export { handle as DELETE, handle as GET, handle as PATCH, handle as POST }
