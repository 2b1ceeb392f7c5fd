. "$TEST/tools.sh"
use_python openapi-python-client
openapi-python-client generate --path openapi.json --config config.yaml --meta none --output-path hosting_api_client > generate.log
# Nothing was left out.
! grep -i warning generate.log
mypy hosting_api_client check.py
python check.py
